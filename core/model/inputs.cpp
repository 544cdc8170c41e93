// Input specifications: their text form, and values for them.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/error.h"
#include "core/model/copy_value.h"
#include "core/model/input_values.h"
#include "core/model/model.h"

namespace ipex_studio {
namespace {

struct DtypeRow {
  const char* name;
  at::ScalarType type;
};
constexpr DtypeRow kDtypes[] = {{"float32", at::kFloat},
                                {"float", at::kFloat},
                                {"float64", at::kDouble},
                                {"bfloat16", at::kBFloat16},
                                {"float16", at::kHalf},
                                {"int64", at::kLong},
                                {"int32", at::kInt},
                                {"int16", at::kShort},
                                {"int8", at::kChar},
                                {"uint8", at::kByte},
                                {"bool", at::kBool},
                                {"complex64", at::kComplexFloat},
                                {"complex128", at::kComplexDouble}};

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw Error(ExitCode::kUsage,
              fmt::format("'--input {}' is not understood ({}); write NAME:1x3x224x224, NAME:1x128:int64[0,1000], "
                          "NAME:1..8x3x224x224 or NAME=VALUE.",
                          text, why));
}

std::int64_t integer(const std::string& word, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (problem != std::errc() || end != word.data() + word.size()) refuse(text, fmt::format("'{}' is no number", word));
  return value;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = end + 1;
  }
}

void readSizes(const std::string& sizes, const std::string& text, InputSpec* spec) {
  if (sizes == "scalar") return;
  for (const std::string& part : split(sizes, 'x')) {
    const std::size_t dots = part.find("..");
    const std::int64_t low = integer(part.substr(0, dots), text);
    const std::int64_t high = dots == std::string::npos ? low : integer(part.substr(dots + 2), text);
    if (low < 0 || high < low || high > (std::int64_t{1} << 32)) refuse(text, fmt::format("'{}' is no size", part));
    spec->sizes.emplace_back(low, high);
  }
}

void readDtype(std::string dtype, const std::string& text, InputSpec* spec) {
  const std::size_t bracket = dtype.find('[');
  if (bracket != std::string::npos) {
    const std::vector<std::string> bounds = split(dtype.substr(bracket + 1), ',');
    if (bounds.size() != 2 || bounds[1].empty() || bounds[1].back() != ']')
      refuse(text, "a value range is written [0,1000]");
    spec->low = integer(bounds[0], text);
    spec->high = integer(bounds[1].substr(0, bounds[1].size() - 1), text);
    if (spec->high < spec->low) refuse(text, "the value range is empty");
    dtype.resize(bracket);
  }
  for (const DtypeRow& row : kDtypes) {
    if (dtype != row.name) continue;
    spec->dtype = dtype == "float" ? "float32" : dtype;
    return;
  }
  refuse(text, fmt::format("'{}' is no type", dtype));
}

at::ScalarType scalarType(const std::string& name) {
  for (const DtypeRow& row : kDtypes) {
    if (name == row.name) return row.type;
  }
  throw Error(ExitCode::kUsage, fmt::format("'{}' is no tensor type; use float32, int64, bool and the like.", name));
}

// The value of NAME=VALUE in the type that forward asks for. A text needs no quotes where nothing else is asked for.
torch::jit::IValue writtenValue(const InputSpec& spec, at::Generator& generator, double at) {
  const bool text = spec.type != nullptr && spec.type->kind() == c10::TypeKind::StringType;
  if (text && spec.value.find_first_of("\"'") != 0) return spec.value;
  const torch::jit::IValue value = parseInputValue(spec.value, generator, at);
  return spec.type == nullptr ? value : asType(value, spec.type, spec.name);
}

}  // namespace

at::Tensor makeTensor(const InputSpec& spec, at::Generator& generator, double at) {
  std::vector<std::int64_t> sizes;
  for (const auto& [low, high] : spec.sizes)
    sizes.push_back(low + static_cast<std::int64_t>(std::llround(at * static_cast<double>(high - low))));
  const at::ScalarType type = scalarType(spec.dtype);
  if (at::isFloatingType(type)) return at::randn(sizes, generator, at::TensorOptions().dtype(at::kFloat)).to(type);
  if (at::isComplexType(type))
    return at::randn(sizes, generator, at::TensorOptions().dtype(at::kComplexFloat)).to(type);
  const bool ranged = spec.low != 0 || spec.high != 0;
  const std::int64_t low = ranged ? spec.low : 0;
  const std::int64_t high = ranged ? spec.high : 1;
  return at::randint(low, high + 1, sizes, generator, at::TensorOptions().dtype(at::kLong)).to(type);
}

std::string dtypeText(at::ScalarType type) {
  for (const DtypeRow& row : kDtypes) {
    if (type == row.type) return row.name;
  }
  return c10::toString(type);
}

bool InputSpec::ranged() const {
  return value.find("..") != std::string::npos ||
         std::any_of(sizes.begin(), sizes.end(), [](const auto& size) { return size.first != size.second; });
}

std::string InputSpec::str() const {
  if (!value.empty()) return fmt::format("{}={}", name, value);
  std::string text = name + ":";
  if (sizes.empty()) text += "scalar";
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const auto& [lo, hi] = sizes[axis];
    text += (axis > 0 ? "x" : "") + (lo == hi ? std::to_string(lo) : fmt::format("{}..{}", lo, hi));
  }
  if (dtype != "float32") text += ":" + dtype;
  if (low != 0 || high != 0) text += fmt::format("[{},{}]", low, high);
  return text;
}

InputSpec parseInputSpec(const std::string& text) {
  InputSpec spec;
  const std::size_t equals = text.find('=');
  const std::size_t colon = text.find(':');
  if (equals != std::string::npos && (colon == std::string::npos || equals < colon)) {
    spec.name = text.substr(0, equals);
    spec.value = text.substr(equals + 1);
    if (spec.value.empty()) refuse(text, "the value is missing");
    return spec;
  }
  if (colon == std::string::npos) refuse(text, "sizes follow behind a colon");
  spec.name = text.substr(0, colon);
  const std::string rest = text.substr(colon + 1);
  const std::size_t second = rest.find(':');
  readSizes(rest.substr(0, second), text, &spec);
  if (second != std::string::npos) readDtype(rest.substr(second + 1), text, &spec);
  return spec;
}

at::Tensor copyWithStrides(const at::Tensor& given, at::ScalarType dtype) {
  const at::Tensor tensor = given.detach();
  const bool has_strides = tensor.layout() == at::kStrided && !tensor.is_quantized() && tensor.numel() > 0;
  if (!has_strides || (tensor.is_non_overlapping_and_dense() && tensor.storage_offset() == 0))
    return tensor.scalar_type() == dtype ? tensor.clone() : tensor.to(dtype);
  std::int64_t last = tensor.storage_offset();
  for (std::int64_t axis = 0; axis < tensor.dim(); ++axis) last += (tensor.size(axis) - 1) * tensor.stride(axis);
  const at::Tensor memory = tensor.as_strided({last + 1}, {1}, 0).to(dtype, false, true);
  return memory.as_strided(tensor.sizes(), tensor.strides(), tensor.storage_offset());
}

torch::jit::IValue mapLeaves(const torch::jit::IValue& value,
                             const std::function<torch::jit::IValue(const torch::jit::IValue&)>& change) {
  if (value.isTuple()) {
    std::vector<torch::jit::IValue> elements;
    for (const torch::jit::IValue& element : value.toTupleRef().elements())
      elements.push_back(mapLeaves(element, change));
    const auto type = value.type()->expect<c10::TupleType>();
    return type->name() ? c10::ivalue::Tuple::createNamed(std::move(elements), type)
                        : c10::ivalue::Tuple::create(std::move(elements));
  }
  if (value.isList()) {
    c10::impl::GenericList list(value.type()->expectRef<c10::ListType>().getElementType());
    for (const torch::jit::IValue& element : value.toListRef()) list.push_back(mapLeaves(element, change));
    return list;
  }
  if (value.isGenericDict()) {
    const auto type = value.type()->expect<c10::DictType>();
    c10::impl::GenericDict dict(type->getKeyType(), type->getValueType());
    for (const auto& entry : value.toGenericDict()) dict.insert(entry.key(), mapLeaves(entry.value(), change));
    return dict;
  }
  return change(value);
}

torch::jit::IValue mapTensors(const torch::jit::IValue& value,
                              const std::function<at::Tensor(const at::Tensor&)>& change) {
  return mapLeaves(value, [&](const torch::jit::IValue& leaf) -> torch::jit::IValue {
    return leaf.isTensor() && leaf.toTensor().defined() ? change(leaf.toTensor()) : leaf;
  });
}

torch::jit::IValue copyValue(const torch::jit::IValue& value) {
  return mapLeaves(value, [](const torch::jit::IValue& leaf) -> torch::jit::IValue {
    if (leaf.isTensor())
      return leaf.toTensor().defined() ? copyWithStrides(leaf.toTensor(), leaf.toTensor().scalar_type()) : leaf;
    return leaf.isObject() ? leaf.deepcopy() : leaf;
  });
}

Inputs makeInputs(const std::vector<InputSpec>& specs, std::uint64_t seed, double at) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  Inputs inputs;
  for (const InputSpec& spec : specs) {
    if (spec.fixed) {
      inputs.push_back(copyValue(*spec.fixed));
    } else if (!spec.value.empty()) {
      inputs.push_back(writtenValue(spec, generator, at));
    } else {
      const at::Tensor tensor = makeTensor(spec, generator, at);
      inputs.push_back(spec.type == nullptr ? torch::jit::IValue(tensor) : asType(tensor, spec.type, spec.name));
    }
  }
  return inputs;
}

}  // namespace ipex_studio
