// Readers of numpy files, saved tensors and recorded cases.
#include "core/model/read_inputs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "core/base/error.h"
#include "core/file/npy_file.h"
#include "core/file/pickle_scan.h"
#include "core/file/zip_reader.h"
#include "core/model/file_descriptor.h"

namespace ipex_studio {
namespace {

using torch::jit::IValue;

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 34;
constexpr std::size_t kMaxItems = 1 << 20;
constexpr std::string_view kPickleName = "data.pkl";

// Opens any regular file, while openModelFile() wants an archive.
int openInputFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 && errno == ENOENT)
    throw Error(ExitCode::kUsage, fmt::format("There is no file '{}'; give another with --inputs.", path));
  struct stat facts {};
  if (fd >= 0 && ::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode)) return fd;
  if (fd >= 0) ::close(fd);
  throw Error(ExitCode::kUsage, fmt::format("'{}' is no file that can be read; give another with --inputs.", path));
}

[[noreturn]] void refuseInputs(const std::string& path, const std::string& why) {
  throw Error(
      ExitCode::kUsage,
      fmt::format("'{}' cannot be used as inputs: {}; give a .pt with a list, tuple or dict of arguments, a recorded "
                  ".io.pt, an .npy or an .npz file.",
                  path, why));
}

std::string firstBytes(int fd) {
  char bytes[6] = {};
  const ssize_t got = ::pread(fd, bytes, sizeof bytes, 0);
  return std::string(bytes, got > 0 ? static_cast<std::size_t>(got) : 0);
}

std::string wholeFile(int fd, const std::string& path) {
  std::string text;
  char chunk[1 << 16];
  for (ssize_t got; (got = ::pread(fd, chunk, sizeof chunk, static_cast<off_t>(text.size()))) != 0;) {
    if (got < 0 || text.size() > kMaxBytes) refuseInputs(path, "it cannot be read");
    text.append(chunk, static_cast<std::size_t>(got));
  }
  return text;
}

std::optional<at::ScalarType> storageType(const std::string& name) {
  static const std::map<std::string, at::ScalarType> kTypes = {
      {"float16", at::kHalf}, {"float32", at::kFloat}, {"float64", at::kDouble}, {"bfloat16", at::kBFloat16},
      {"int8", at::kChar},    {"int16", at::kShort},   {"int32", at::kInt},      {"int64", at::kLong},
      {"uint8", at::kByte},   {"bool", at::kBool}};
  const auto found = kTypes.find(name);
  return found == kTypes.end() ? std::nullopt : std::optional<at::ScalarType>(found->second);
}

// --- numpy -----------------------------------------------------------------------------------------------------------

at::Tensor tensorOf(const NpyArray& array) {
  std::vector<std::int64_t> dims = array.dims;
  if (array.fortran_order) std::reverse(dims.begin(), dims.end());
  at::Tensor tensor = at::empty(dims, at::TensorOptions().dtype(*storageType(array.dtype)));
  std::memcpy(tensor.data_ptr(), array.data.data(), array.data.size());
  if (!array.fortran_order) return tensor;
  std::vector<std::int64_t> order;
  for (std::size_t axis = dims.size(); axis > 0; --axis) order.push_back(static_cast<std::int64_t>(axis) - 1);
  return tensor.permute(order).contiguous();
}

NamedInputs inputsOfNpz(const ZipReader& zip, const std::string& path) {
  NamedInputs inputs;
  for (const auto& [name, array] : readNpz(zip, path)) {
    const bool by_order = name == fmt::format("arr_{}", inputs.names.size());
    inputs.names.push_back(by_order ? "" : name);
    inputs.values.emplace_back(tensorOf(array));
  }
  return inputs;
}

// --- torch -----------------------------------------------------------------------------------------------------------

// Builds the values of a pickle, tensors included, from the scan alone.
class SavedValues {
 public:
  SavedValues(const ZipReader& zip, const std::string& path, const ZipMember& pickle)
      : zip_(zip),
        path_(path),
        folder_(pickle.name.substr(0, pickle.name.size() - kPickleName.size())),
        bytes_(zip.read(pickle, kMaxBytes)) {
    PickleScanOptions options;
    options.where = fmt::format("'{}', member '{}'", path, pickle.name);
    options.python_writer = true;
    options.storage_bytes = [&](const std::string& key) -> std::optional<std::uint64_t> {
      const ZipMember* member = zip_.find(storageName(key));
      return member == nullptr ? std::nullopt : std::optional<std::uint64_t>(member->bytes);
    };
    scan_ = scanPickle(bytes_, options);
    const ZipMember* order = zip.find(folder_ + "byteorder");
    if (order != nullptr && zip.read(*order, kMaxItems) != "little") refuseInputs(path, "its numbers are big-endian");
  }

  const PickleValue& root() const { return scan_.values[scan_.root]; }
  const PickleValue& item(const PickleValue& of, std::uint32_t index) const { return scan_.item(of, index); }

  IValue valueOf(const PickleValue& value) {
    switch (value.kind) {
      case PickleKind::kNone:
        return {};
      case PickleKind::kBool:
        return value.integer != 0;
      case PickleKind::kInt:
        return value.integer;
      case PickleKind::kFloat:
        return value.real;
      case PickleKind::kTensor:
        return tensorOf(scan_.tensors[static_cast<std::size_t>(value.integer)]);
      case PickleKind::kString:
        return std::string(value.text);
      case PickleKind::kTuple:
        return c10::ivalue::Tuple::create(itemsOf(value));
      case PickleKind::kList:
        return listOf(value);
      case PickleKind::kDict:
        return dictOf(value);
      default:
        refuseInputs(path_, "it holds something that is no tensor, number, text, list, tuple or dictionary");
    }
  }

  at::Tensor tensorAt(const PickleValue& value) {
    return tensorOf(scan_.tensors[static_cast<std::size_t>(value.integer)]);
  }

 private:
  std::string storageName(const std::string& key) const { return folder_ + "data/" + key; }

  std::vector<IValue> itemsOf(const PickleValue& value) {
    // Inputs of models are hardly nested; the limit bounds the recursion.
    if (value.depth > 16) refuseInputs(path_, "it nests too deep");
    // Containers may be shared, so a small file can unfold to a large value.
    unfolded_ += value.count;
    if (unfolded_ > kMaxItems) refuseInputs(path_, "it holds too many values");
    std::vector<IValue> items;
    for (std::uint32_t i = 0; i < value.count; ++i) items.push_back(valueOf(item(value, i)));
    return items;
  }

  // Lists and the values of dictionaries hold any types: what forward asks for is not known here.
  IValue listOf(const PickleValue& value) {
    c10::impl::GenericList list(c10::AnyType::get());
    for (IValue& entry : itemsOf(value)) list.push_back(std::move(entry));
    return list;
  }

  IValue dictOf(const PickleValue& value) {
    const std::vector<IValue> items = itemsOf(value);
    const c10::TypePtr key_type = items.empty() ? c10::TypePtr(c10::StringType::get()) : items[0].type();
    c10::impl::GenericDict dict(key_type, c10::AnyType::get());
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      const IValue& key = items[i];
      if (*key.type() != *key_type || !(key.isString() || key.isInt() || key.isDouble() || key.isBool()))
        refuseInputs(path_, "the keys of a dictionary in it are not all numbers or all texts");
      dict.insert_or_assign(key, items[i + 1]);
    }
    return dict;
  }

  at::Tensor tensorOf(const PickleTensor& described) {
    const PickleStorage& storage = scan_.storages[described.storage];
    const auto type = storageType(storage.dtype);
    if (described.sparse || described.quantized || !type)
      refuseInputs(path_, fmt::format("it holds a {} tensor that models here do not take",
                                      described.sparse ? "sparse" : storage.dtype));
    at::Tensor& whole = storages_[storage.key];
    if (!whole.defined()) {
      const std::string bytes = zip_.read(*zip_.find(storageName(storage.key)), kMaxBytes);
      whole = at::empty({storage.elements}, at::TensorOptions().dtype(*type));
      std::memcpy(whole.data_ptr(), bytes.data(), static_cast<std::size_t>(whole.nbytes()));
    }
    if (whole.scalar_type() != *type || whole.numel() != storage.elements)
      refuseInputs(path_, "two of its tensors disagree about their data");
    return whole.as_strided(described.dims, described.strides, described.offset);
  }

  const ZipReader& zip_;
  const std::string& path_;
  std::string folder_, bytes_;
  PickleScan scan_;
  std::map<std::string, at::Tensor> storages_;
  std::size_t unfolded_ = 0;
};

const ZipMember* pickleOf(const ZipReader& zip) {
  const std::string folder = zip.firstListed().substr(0, zip.firstListed().find('/') + 1);
  return zip.find(folder + std::string(kPickleName));
}

// The parts of a buffer's name: "case12_in3" has kind "case", number 12, direction "in", position 3.
struct BufferName {
  bool step = false, in = false;
  std::size_t number = 0, position = 0;
};
constexpr std::size_t kMaxCases = 100000;

std::optional<std::size_t> numberAt(std::string_view text, std::size_t* at) {
  std::size_t value = 0;
  const std::size_t begin = *at;
  while (*at < text.size() && text[*at] >= '0' && text[*at] <= '9' && value < kMaxCases)
    value = value * 10 + static_cast<std::size_t>(text[(*at)++] - '0');
  return *at == begin || value >= kMaxCases ? std::nullopt : std::optional<std::size_t>(value);
}

std::optional<BufferName> readName(std::string_view text) {
  BufferName name;
  name.step = text.substr(0, 4) == "step";
  if (!name.step && text.substr(0, 4) != "case") return std::nullopt;
  std::size_t at = 4;
  const auto number = numberAt(text, &at);
  name.in = text.substr(at, 3) == "_in";
  if (!number || (!name.in && text.substr(at, 4) != "_out")) return std::nullopt;
  at += name.in ? 3 : 4;
  const auto position = numberAt(text, &at);
  if (!position || at != text.size()) return std::nullopt;
  name.number = *number;
  name.position = *position;
  return name;
}

std::vector<RecordedCase> casesOf(SavedValues& saved, const std::string& path) {
  if (saved.root().kind != PickleKind::kObject) return {};
  const PickleValue& state = saved.item(saved.root(), 0);
  if (state.kind != PickleKind::kDict) return {};
  // Maps (step, number), per direction, to the tensors by position.
  std::map<std::pair<bool, std::size_t>, std::map<std::size_t, at::Tensor>> in, out;
  for (std::uint32_t i = 0; i + 1 < state.count; i += 2) {
    const PickleValue& key = saved.item(state, i);
    const PickleValue& value = saved.item(state, i + 1);
    const auto name = key.kind == PickleKind::kString ? readName(key.text) : std::nullopt;
    if (!name || value.kind != PickleKind::kTensor) continue;
    (name->in ? in : out)[{name->step, name->number}][name->position] = saved.tensorAt(value);
  }
  std::vector<RecordedCase> cases;
  const auto append = [&](const std::map<std::size_t, at::Tensor>& tensors, const auto& add) {
    std::size_t next = 0;
    for (const auto& [position, tensor] : tensors) {
      if (position != next++) refuseInputs(path, "a recorded case lacks one of its tensors");
      add(tensor);
    }
  };
  for (const auto& [key, tensors] : in) {
    RecordedCase recorded;
    recorded.step = key.first;
    recorded.name = fmt::format("{}{}", key.first ? "step" : "case", key.second);
    append(tensors, [&](const at::Tensor& tensor) { recorded.inputs.emplace_back(tensor); });
    append(out[key], [&](const at::Tensor& tensor) { recorded.expected.push_back(tensor); });
    cases.push_back(std::move(recorded));
  }
  return cases;
}

NamedInputs inputsOf(SavedValues& saved, const std::string& path) {
  NamedInputs inputs;
  const PickleValue& root = saved.root();
  const auto add = [&](const std::string& name, const PickleValue& value) {
    inputs.names.push_back(name);
    inputs.values.push_back(saved.valueOf(value));
  };
  if (root.kind == PickleKind::kTensor) {
    add("", root);
  } else if (root.kind == PickleKind::kList || root.kind == PickleKind::kTuple) {
    for (std::uint32_t i = 0; i < root.count; ++i) add("", saved.item(root, i));
  } else if (root.kind == PickleKind::kDict) {
    for (std::uint32_t i = 0; i + 1 < root.count; i += 2) {
      const PickleValue& key = saved.item(root, i);
      if (key.kind != PickleKind::kString) refuseInputs(path, "a key of its dict is no name");
      add(std::string(key.text), saved.item(root, i + 1));
    }
  } else if (root.kind == PickleKind::kObject) {
    const std::vector<RecordedCase> cases = casesOf(saved, path);
    if (cases.empty()) refuseInputs(path, "it is a model, not inputs");
    inputs.values = cases[0].inputs;
    inputs.names.resize(inputs.values.size());
  } else {
    refuseInputs(path, "it holds no tensors");
  }
  if (inputs.values.empty()) refuseInputs(path, "it holds no tensors");
  return inputs;
}

}  // namespace

NamedInputs readNamedInputs(const std::string& path) {
  const FileDescriptor file(openInputFile(path));
  const std::string first = firstBytes(file.get());
  if (first == "\x93NUMPY") return {{""}, {tensorOf(parseNpy(wholeFile(file.get(), path), fmt::format("'{}'", path)))}};
  if (first.compare(0, 2, "PK") != 0)
    refuseInputs(path, "it is neither a numpy file nor a file of torch.save since PyTorch 1.6");
  const ZipReader zip(file.get(), path);
  const ZipMember* pickle = pickleOf(zip);
  if (pickle == nullptr) {
    NamedInputs arrays = inputsOfNpz(zip, path);
    if (arrays.values.empty()) refuseInputs(path, "it holds no tensors");
    return arrays;
  }
  SavedValues saved(zip, path, *pickle);
  return inputsOf(saved, path);
}

Inputs readInputs(const std::string& path) { return readNamedInputs(path).values; }

std::vector<RecordedCase> readRecordedCases(const std::string& path) {
  const FileDescriptor file(openInputFile(path));
  if (firstBytes(file.get()).compare(0, 2, "PK") != 0) return {};
  const ZipReader zip(file.get(), path);
  const ZipMember* pickle = pickleOf(zip);
  if (pickle == nullptr) return {};
  SavedValues saved(zip, path, *pickle);
  return casesOf(saved, path);
}

}  // namespace ipex_studio
