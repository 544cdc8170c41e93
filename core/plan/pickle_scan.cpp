#include "core/plan/pickle_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "core/plan/error.h"
#include "core/plan/pickle_globals.h"

namespace ipex_studio {
namespace {

constexpr std::uint32_t kShared = 3 + 256;  // values 0 … kShared-1: None, False, True, 0 … 255
constexpr std::size_t kMaxRank = 64;

class Scanner {
 public:
  Scanner(std::string_view bytes, const PickleScanOptions& options) : bytes_(bytes), options_(options) {
    scan_.values.resize(kShared);
    for (std::uint32_t i = 1; i < kShared; ++i) {
      scan_.values[i].kind = i < 3 ? PickleKind::kBool : PickleKind::kInt;
      scan_.values[i].integer = i < 3 ? i - 1 : i - 3;
    }
  }

  PickleScan run() {
    if (byte() != 0x80 || byte() != 2) fail("does not begin as a pickle of protocol 2");
    while (step()) {
    }
    if (at_ != bytes_.size()) fail("goes on after its end");
    if (stack_.size() != 1 || !marks_.empty()) fail("does not end with one value");
    scan_.root = stack_.front();
    return std::move(scan_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ExitCode::kBadModel,
                fmt::format("{}: the pickle {} (byte {}); the file is damaged or was not written by torch.jit.save.",
                            options_.where, what, at_));
  }

  // --- bytes -------------------------------------------------------------------------------------------------------
  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size() - at_) fail(fmt::format("needs {} bytes where {} are left", count, bytes_.size() - at_));
    const std::string_view part = bytes_.substr(at_, count);
    at_ += count;
    return part;
  }
  std::uint8_t byte() { return static_cast<std::uint8_t>(take(1)[0]); }
  std::uint64_t little(std::size_t count) {
    const std::string_view part = take(count);
    std::uint64_t value = 0;
    for (std::size_t i = count; i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(part[i]);
    return value;
  }
  double bigEndianDouble() {
    std::uint64_t bits = 0;
    for (char c : take(8)) bits = bits << 8 | static_cast<std::uint8_t>(c);
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  std::string_view line() {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos || end - at_ > 4096) fail("has a global without an end");
    const std::string_view text = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return text;
  }

  // --- values ------------------------------------------------------------------------------------------------------
  void push(PickleValue value) {
    if (scan_.values.size() >= options_.max_values) fail(fmt::format("has more than {} values", options_.max_values));
    if (value.depth > options_.max_depth) fail(fmt::format("nests deeper than {} levels", options_.max_depth));
    scan_.values.push_back(value);
    stack_.push_back(static_cast<std::uint32_t>(scan_.values.size() - 1));
  }
  void pushInt(std::int64_t value) {
    if (value >= 0 && value < 256) {
      stack_.push_back(static_cast<std::uint32_t>(3 + value));
      return;
    }
    PickleValue made;
    made.kind = PickleKind::kInt;
    made.integer = value;
    push(made);
  }
  void pushIndexed(PickleKind kind, std::size_t index) {
    PickleValue made;
    made.kind = kind;
    made.integer = static_cast<std::int64_t>(index);
    push(made);
  }
  void pushText(PickleKind kind, std::string_view text) {
    PickleValue made;
    made.kind = kind;
    made.text = text;
    push(made);
  }
  std::uint32_t pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) fail("takes a value where none is");
    const std::uint32_t top = stack_.back();
    stack_.pop_back();
    return top;
  }
  PickleValue& at(std::uint32_t index) { return scan_.values[index]; }
  const PickleValue& expect(const PickleValue& of, std::uint32_t index, PickleKind kind, const char* what) const {
    if (index >= of.count || scan_.item(of, index).kind != kind) fail(fmt::format("has {}", what));
    return scan_.item(of, index);
  }

  // Moves the stack's values from `begin` on into `value` as its items.
  void fill(PickleValue* value, std::size_t begin) {
    value->first = static_cast<std::uint32_t>(scan_.items.size());
    value->count = static_cast<std::uint32_t>(stack_.size() - begin);
    for (std::size_t i = begin; i < stack_.size(); ++i) {
      PickleValue& item = at(stack_[i]);
      item.held = true;
      value->depth = std::max<std::uint16_t>(value->depth, item.depth + 1);
      scan_.items.push_back(stack_[i]);
    }
    stack_.resize(begin);
  }
  void pushTuple(std::size_t begin) {
    PickleValue made;
    made.kind = PickleKind::kTuple;
    fill(&made, begin);
    push(made);
  }
  void pushTupleOf(std::size_t count) {
    if (stack_.size() < count + (marks_.empty() ? 0 : marks_.back())) fail("takes a value where none is");
    pushTuple(stack_.size() - count);
  }
  std::size_t popMark() {
    if (marks_.empty()) fail("closes what it did not open");
    const std::size_t begin = marks_.back();
    marks_.pop_back();
    return begin;
  }
  void fillContainer(PickleKind kind) {
    const std::size_t begin = popMark();
    if (begin == 0 || begin <= (marks_.empty() ? 0 : marks_.back())) fail("fills a container that is not there");
    const std::uint32_t target = stack_[begin - 1];
    if (at(target).kind != kind || at(target).held || at(target).count > 0) {
      fail("fills a container of another kind, twice, or after its use");
    }
    if (kind == PickleKind::kDict && (stack_.size() - begin) % 2 != 0) fail("has a key without a value");
    if (std::find(stack_.begin() + begin, stack_.end(), target) != stack_.end()) fail("puts a container into itself");
    PickleValue filled = at(target);
    fill(&filled, begin);
    if (filled.depth > options_.max_depth) fail(fmt::format("nests deeper than {} levels", options_.max_depth));
    at(target) = filled;
  }
  // Python's form for containers of one item.
  void fillWithLast(PickleKind kind, std::size_t count, std::uint8_t opcode) {
    if (!options_.python_writer) unknownOpcode(opcode);
    if (stack_.size() < count + (marks_.empty() ? 0 : marks_.back())) fail("takes a value where none is");
    marks_.push_back(stack_.size() - count);
    fillContainer(kind);
  }
  [[noreturn]] void unknownOpcode(std::uint8_t opcode) const {
    fail(fmt::format("has opcode 0x{:02x}, which TorchScript files do not use", opcode));
  }
  // Little-endian two's complement; libtorch writes 8 bytes, Python as few as it takes.
  std::int64_t longInt() {
    const std::uint8_t width = byte();
    if (width != 8 && !(options_.python_writer && width >= 1 && width < 8)) fail("has a whole number that is not 64 bits wide");
    const std::uint64_t bits = little(width) << (64 - 8 * width);
    return static_cast<std::int64_t>(bits) >> (64 - 8 * width);
  }
  void memoize(std::uint64_t id) {
    if (stack_.empty()) fail("remembers a value where none is");
    // The pickler numbers them in turn; libtorch would allocate room for any number.
    if (id > memo_.size()) fail(fmt::format("uses memo number {} after {}", id, memo_.size()));
    if (id == memo_.size()) memo_.push_back(0);
    memo_[id] = stack_.back();
  }
  void recall(std::uint64_t id) {
    if (id >= memo_.size()) fail(fmt::format("recalls memo number {}, which was never set", id));
    stack_.push_back(memo_[id]);
  }

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

  // libtorch parses type tags by recursion.
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
      case PickleGlobal::kRebuildTensor: return rebuildTensor(args, false);
      case PickleGlobal::kRebuildQuantized: return rebuildTensor(args, true);
      case PickleGlobal::kRebuildSparse: return rebuildSparse(args);
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
      default: fail("calls a name that is no function");
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

  // The product, refused beyond 2^48.
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
    const auto storage = static_cast<std::uint32_t>(
        expect(args, 0, PickleKind::kStorage, "a tensor without storage").integer);
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
      case '.': return false;
      case '(':
        if (marks_.size() >= options_.max_marks) fail(fmt::format("opens more than {} containers", options_.max_marks));
        marks_.push_back(stack_.size());
        break;
      case 'N': stack_.push_back(0); break;
      case 0x89: stack_.push_back(1); break;
      case 0x88: stack_.push_back(2); break;
      case 'K': pushInt(byte()); break;
      case 'M': pushInt(static_cast<std::int64_t>(little(2))); break;
      case 'J': pushInt(static_cast<std::int32_t>(little(4))); break;
      case 0x8a:
        pushInt(longInt());
        break;
      case 'G': {
        PickleValue made;
        made.kind = PickleKind::kFloat;
        made.real = bigEndianDouble();
        push(made);
        break;
      }
      case 'X': pushText(PickleKind::kString, take(little(4))); break;
      case ')': pushTupleOf(0); break;
      case 0x85: pushTupleOf(1); break;
      case 0x86: pushTupleOf(2); break;
      case 0x87: pushTupleOf(3); break;
      case 't': pushTuple(popMark()); break;
      case ']': pushIndexed(PickleKind::kList, 0); break;
      case '}': pushIndexed(PickleKind::kDict, 0); break;
      case 'a': fillWithLast(PickleKind::kList, 1, opcode); break;
      case 's': fillWithLast(PickleKind::kDict, 2, opcode); break;
      case 'e': fillContainer(PickleKind::kList); break;
      case 'u': fillContainer(PickleKind::kDict); break;
      case 'q': memoize(byte()); break;
      case 'r': memoize(little(4)); break;
      case 'h': recall(byte()); break;
      case 'j': recall(little(4)); break;
      case 'c': pushGlobal(); break;
      case 0x81: newObject(); break;
      case 'b': build(); break;
      case 'R': reduce(); break;
      case 'Q': pushStorage(); break;
      default: unknownOpcode(opcode);
    }
    if (stack_.size() > options_.max_values) fail(fmt::format("has more than {} values", options_.max_values));
    return true;
  }

  std::string_view bytes_;
  const PickleScanOptions& options_;
  std::size_t at_ = 0;
  PickleScan scan_;
  std::vector<std::uint32_t> stack_, memo_;
  std::vector<std::size_t> marks_;
  std::map<std::string, std::size_t> global_index_;
};

}  // namespace

PickleScan scanPickle(std::string_view bytes, const PickleScanOptions& options) {
  return Scanner(bytes, options).run();
}

}  // namespace ipex_studio
