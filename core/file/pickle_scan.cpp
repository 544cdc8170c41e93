// The opcodes, calls and tensor rebuilds of a scanned pickle.
#include "core/file/pickle_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/error.h"
#include "core/file/pickle_globals.h"
#include "core/file/pickle_stack.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kMaxRank = 64;

class Scanner : private PickleStack {
 public:
  using PickleStack::PickleStack;

  PickleScan run() {
    if (byte() != 0x80 || byte() != 2) fail("does not begin as a pickle of protocol 2");
    while (step()) {
    }
    if (!atEnd()) fail("goes on after its end");
    if (stack_.size() != 1 || !marks_.empty()) fail("does not end with one value");
    scan_.root = stack_.front();
    return std::move(scan_);
  }

 private:
  // --- globals and calls -------------------------------------------------------------------------------------------
  void pushGlobal() {
    const std::string_view module = line(), name = line();
    const std::string full = std::string(module) + "." + std::string(name);
    const auto known = global_index_.find(full);
    if (known != global_index_.end()) return pushIndexed(PickleKind::kGlobal, known->second);
    const std::optional<PickleGlobal> kind = allowedGlobal(module, name);
    if (!kind) {
      throw Error(ExitCode::kBadModel,
                  fmt::format("{}: refused, it calls for '{}', which TorchScript files have no use for; it may be a "
                              "Python pickle or an attack.",
                              options_.where, isQualifiedName(full) ? full : "a global with a broken name"));
    }
    scan_.globals.push_back({*kind, full});
    global_index_[full] = scan_.globals.size() - 1;
    pushIndexed(PickleKind::kGlobal, scan_.globals.size() - 1);
  }

  const PickleGlobalUse& callee(std::uint32_t value) {
    if (at(value).kind != PickleKind::kGlobal) fail("calls something that is not a function");
    return scan_.globals[static_cast<std::size_t>(at(value).integer)];
  }

  void pushObject(PickleKind kind, std::uint32_t class_value, std::uint32_t state) {
    PickleValue made;
    made.kind = kind;
    made.integer = at(class_value).integer;
    stack_.push_back(state);
    fill(&made, stack_.size() - 1);
    push(made);
  }

  void build() {
    const std::uint32_t state = pop(), what = pop();
    if (callee(what).kind != PickleGlobal::kClass) fail("builds an object of something that is no class");
    pushObject(PickleKind::kObject, what, state);
  }

  void newObject() {
    const std::uint32_t arguments = pop();
    if (at(arguments).kind != PickleKind::kTuple || at(arguments).count != 0) fail("makes an object with arguments");
    const std::uint32_t what = pop();
    if (callee(what).kind != PickleGlobal::kClass) fail("makes an object of something that is no class");
    stack_.push_back(what);
  }

  // Bounds the nesting of type tags, which libtorch parses by recursion.
  void checkTypeTag(std::string_view text) const {
    if (std::count(text.begin(), text.end(), '[') > 64) fail("has a type tag that nests too deep");
  }

  void reduce() {
    const std::uint32_t argument = pop(), function = pop();
    const PickleGlobal kind = callee(function).kind;
    if (kind == PickleGlobal::kClass) return pushObject(PickleKind::kEnum, function, argument);
    const PickleValue args = at(argument);
    if (args.kind != PickleKind::kTuple) fail("calls a function without a tuple of arguments");
    switch (kind) {
      case PickleGlobal::kRebuildTensor:
        return rebuildTensor(args, false);
      case PickleGlobal::kRebuildQuantized:
        return rebuildTensor(args, true);
      case PickleGlobal::kRebuildSparse:
        return rebuildSparse(args);
      case PickleGlobal::kBuildList:
        expect(args, 0, PickleKind::kList, "a typed list that is no list");
        return stack_.push_back(scan_.items[args.first]);
      case PickleGlobal::kRestoreTypeTag:
        checkTypeTag(expect(args, 1, PickleKind::kString, "a type tag that is no text").text);
        if (scan_.item(args, 0).kind != PickleKind::kList) {
          expect(args, 0, PickleKind::kDict, "a type tag on something that is no container");
        }
        return stack_.push_back(scan_.items[args.first]);
      case PickleGlobal::kOrderedDict:
        if (args.count != 0) fail("has backward hooks");
        return stack_.push_back(0);
      case PickleGlobal::kComplex:
        expect(args, 0, PickleKind::kFloat, "a broken complex number");
        expect(args, 1, PickleKind::kFloat, "a broken complex number");
        return pushIndexed(PickleKind::kComplex, 0);
      case PickleGlobal::kDevice:
        return pushText(PickleKind::kDevice, expect(args, 0, PickleKind::kString, "a device that is no text").text);
      default:
        fail("calls a name that is no function");
    }
  }

  // --- tensors -----------------------------------------------------------------------------------------------------
  void pushStorage() {
    const PickleValue id = at(pop());
    if (id.kind != PickleKind::kTuple || id.count != 5) fail("has a storage of unknown form");
    if (expect(id, 0, PickleKind::kString, "a broken storage").text != "storage") fail("has a storage of unknown form");
    const auto global =
        static_cast<std::size_t>(expect(id, 1, PickleKind::kGlobal, "a storage without a type").integer);
    if (scan_.globals[global].kind != PickleGlobal::kStorageType) fail("has a storage without a type");
    const PickleStorageType& type = *findStorageType(std::string_view(scan_.globals[global].name).substr(6));
    PickleStorage storage;
    storage.key = expect(id, 2, PickleKind::kString, "a storage without a key").text;
    storage.device = expect(id, 3, PickleKind::kString, "a storage without a device").text;
    storage.elements = expect(id, 4, PickleKind::kInt, "a storage without a size").integer;
    storage.dtype = type.dtype;
    storage.element_bytes = type.element_bytes;
    checkStorage(storage);
    scan_.storages.push_back(std::move(storage));
    pushIndexed(PickleKind::kStorage, scan_.storages.size() - 1);
  }

  void checkStorage(const PickleStorage& storage) const {
    if (!isQualifiedName(storage.key)) fail("has a storage with a broken key");
    const std::optional<std::uint64_t> bytes = options_.storage_bytes(storage.key);
    if (!bytes) fail(fmt::format("refers to tensor data '{}', which the file lacks", storage.key));
    if (*bytes == 0 && options_.storages_may_be_empty) return;
    const std::uint64_t whole = *bytes / static_cast<std::uint64_t>(storage.element_bytes);
    if (storage.elements < 0 || static_cast<std::uint64_t>(storage.elements) != whole) {
      fail(fmt::format("declares {} {} elements of tensor data '{}', which has {} bytes", storage.elements,
                       storage.dtype, storage.key, *bytes));
    }
  }

  std::vector<std::int64_t> dims(const PickleValue& of, std::uint32_t index) const {
    const PickleValue& tuple = expect(of, index, PickleKind::kTuple, "a tensor without sizes");
    if (tuple.count > kMaxRank) fail(fmt::format("has a tensor of {} dimensions", tuple.count));
    std::vector<std::int64_t> values;
    for (std::uint32_t i = 0; i < tuple.count; ++i) {
      values.push_back(expect(tuple, i, PickleKind::kInt, "a tensor size that is no number").integer);
      if (values.back() < 0) fail("has a tensor with a negative size or stride");
    }
    return values;
  }

  // Returns the product of the sizes; refuses more than 2^48.
  std::int64_t count(const std::vector<std::int64_t>& sizes) const {
    std::int64_t product = 1;
    if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return 0;
    for (std::int64_t size : sizes) {
      if (size > (std::int64_t{1} << 48) / product) fail("has a tensor with too many elements");
      product *= size;
    }
    return product;
  }

  void rebuildTensor(const PickleValue& args, bool quantized) {
    const auto storage =
        static_cast<std::uint32_t>(expect(args, 0, PickleKind::kStorage, "a tensor without storage").integer);
    const std::int64_t offset = expect(args, 1, PickleKind::kInt, "a tensor without offset").integer;
    const std::vector<std::int64_t> sizes = dims(args, 2), strides = dims(args, 3);
    const std::uint32_t grad = quantized ? 5 : 4;
    PickleTensor tensor;
    tensor.storage = storage;
    tensor.offset = offset;
    tensor.quantized = quantized;
    tensor.requires_grad = expect(args, grad, PickleKind::kBool, "a tensor of unknown form").integer != 0;
    tensor.elements = count(sizes);
    if (sizes.size() != strides.size()) fail("has a tensor whose sizes and strides differ in number");
    if (args.count < grad + 2 || args.count > 7) fail("has a tensor of unknown form");
    if (quantized) checkQuantizer(args);
    if (!quantized && args.count == 7) expect(args, 6, PickleKind::kDict, "a tensor of unknown form");
    checkReach(scan_.storages[storage], offset, sizes, strides);
    tensor.dims = sizes;
    tensor.strides = strides;
    scan_.tensors.push_back(std::move(tensor));
    pushIndexed(PickleKind::kTensor, scan_.tensors.size() - 1);
  }

  void checkReach(const PickleStorage& storage, std::int64_t offset, const std::vector<std::int64_t>& sizes,
                  const std::vector<std::int64_t>& strides) const {
    std::int64_t left = storage.elements - 1 - offset;
    if (offset < 0 || offset > storage.elements) fail("has a tensor that begins outside its data");
    if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return;
    bool inside = left >= 0;
    for (std::size_t i = 0; i < sizes.size() && inside; ++i) {
      if (sizes[i] == 1 || strides[i] == 0) continue;
      inside = strides[i] <= left / (sizes[i] - 1);
      if (inside) left -= strides[i] * (sizes[i] - 1);
    }
    if (!inside) fail(fmt::format("has a tensor that reaches beyond its data '{}'", storage.key));
  }

  void checkQuantizer(const PickleValue& args) const {
    const PickleValue& quantizer = expect(args, 4, PickleKind::kTuple, "a quantized tensor without its scale");
    const PickleValue& scheme = expect(quantizer, 0, PickleKind::kGlobal, "a quantized tensor without a scheme");
    const PickleGlobalUse& use = scan_.globals[static_cast<std::size_t>(scheme.integer)];
    if (use.kind != PickleGlobal::kQuantScheme) fail("has a quantized tensor without a scheme");
    if (use.name == "torch.per_tensor_affine") {
      expect(quantizer, 1, PickleKind::kFloat, "a quantized tensor without a scale");
      expect(quantizer, 2, PickleKind::kInt, "a quantized tensor without a zero point");
      return;
    }
    expect(quantizer, 1, PickleKind::kTensor, "a quantized tensor without scales");
    expect(quantizer, 2, PickleKind::kTensor, "a quantized tensor without zero points");
    expect(quantizer, 3, PickleKind::kInt, "a quantized tensor without an axis");
  }

  void rebuildSparse(const PickleValue& args) {
    const std::int64_t layout = expect(args, 0, PickleKind::kInt, "a sparse tensor without a layout").integer;
    if (layout != 1 && layout != 2) fail("has a sparse tensor of unknown layout");
    const std::uint32_t values_at = layout == 1 ? 4 : 5;  // after the indices; compressed rows have two of them
    PickleTensor tensor;
    tensor.sparse = true;
    tensor.dims = dims(args, 1);
    tensor.elements = count(tensor.dims);
    tensor.requires_grad = expect(args, 2, PickleKind::kBool, "a sparse tensor of unknown form").integer != 0;
    for (std::uint32_t i = 3; i <= values_at; ++i) expect(args, i, PickleKind::kTensor, "a broken sparse tensor");
    const auto values = static_cast<std::size_t>(scan_.item(args, values_at).integer);
    tensor.storage = scan_.tensors[values].storage;
    scan_.tensors.push_back(std::move(tensor));
    pushIndexed(PickleKind::kTensor, scan_.tensors.size() - 1);
  }

  // --- opcodes -----------------------------------------------------------------------------------------------------
  // Runs one opcode; false at STOP.
  bool step() {
    const std::uint8_t opcode = byte();
    switch (opcode) {
      case '.':
        return false;
      case '(':
        mark();
        break;
      case 'N':
        stack_.push_back(0);
        break;
      case 0x89:
        stack_.push_back(1);
        break;
      case 0x88:
        stack_.push_back(2);
        break;
      case 'K':
        pushInt(byte());
        break;
      case 'M':
        pushInt(static_cast<std::int64_t>(little(2)));
        break;
      case 'J':
        pushInt(static_cast<std::int32_t>(little(4)));
        break;
      case 0x8a:
        pushInt(longInt());
        break;
      case 'G':
        pushReal(bigEndianDouble());
        break;
      case 'X':
        pushText(PickleKind::kString, take(little(4)));
        break;
      case ')':
        pushTupleOf(0);
        break;
      case 0x85:
        pushTupleOf(1);
        break;
      case 0x86:
        pushTupleOf(2);
        break;
      case 0x87:
        pushTupleOf(3);
        break;
      case 't':
        pushTuple(popMark());
        break;
      case ']':
        pushIndexed(PickleKind::kList, 0);
        break;
      case '}':
        pushIndexed(PickleKind::kDict, 0);
        break;
      case 'a':
        fillWithLast(PickleKind::kList, 1, opcode);
        break;
      case 's':
        fillWithLast(PickleKind::kDict, 2, opcode);
        break;
      case 'e':
        fillContainer(PickleKind::kList);
        break;
      case 'u':
        fillContainer(PickleKind::kDict);
        break;
      case 'q':
        memoize(byte());
        break;
      case 'r':
        memoize(little(4));
        break;
      case 'h':
        recall(byte());
        break;
      case 'j':
        recall(little(4));
        break;
      case 'c':
        pushGlobal();
        break;
      case 0x81:
        newObject();
        break;
      case 'b':
        build();
        break;
      case 'R':
        reduce();
        break;
      case 'Q':
        pushStorage();
        break;
      default:
        unknownOpcode(opcode);
    }
    if (stack_.size() > options_.max_values) fail(fmt::format("has more than {} values", options_.max_values));
    return true;
  }

  std::map<std::string, std::size_t> global_index_;
};

}  // namespace

PickleScan scanPickle(std::string_view bytes, const PickleScanOptions& options) {
  return Scanner(bytes, options).run();
}

}  // namespace ipex_studio
