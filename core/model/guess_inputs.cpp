// Reads inputs from a model: their types, and guesses from its graph.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "core/base/error.h"
#include "core/graph/fused_op.h"
#include "core/model/input_signature.h"
#include "core/model/input_values.h"
#include "core/model/model_memory.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Value;

std::vector<std::pair<std::int64_t, std::int64_t>> fixed(const std::vector<std::int64_t>& sizes) {
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (std::int64_t size : sizes) pairs.emplace_back(size, size);
  return pairs;
}

InputSpec floats(const std::vector<std::int64_t>& sizes) {
  InputSpec spec;
  spec.sizes = fixed(sizes);
  return spec;
}

InputSpec integers(const std::vector<std::int64_t>& sizes, std::int64_t low, std::int64_t high) {
  InputSpec spec = floats(sizes);
  spec.dtype = "int64";
  spec.low = low;
  spec.high = high;
  return spec;
}

constexpr std::int64_t kSequence = 128;
constexpr std::int64_t kBags = 16;

// Floats of the weight's dtype: a model in FP64 or BF16 takes no others.
InputSpec floatsFor(const at::Tensor& weight, const std::vector<std::int64_t>& sizes) {
  InputSpec spec = floats(sizes);
  if (at::isFloatingType(weight.scalar_type())) spec.dtype = dtypeText(weight.scalar_type());
  return spec;
}

// Reads the input's sizes off the weight of a convolution [out, in/groups, kernel…].
std::optional<InputSpec> fromConvolution(const Node* node, const at::Tensor& weight) {
  const std::size_t groups_at =
      node->kind() == c10::aten::_convolution || node->kind() == c10::aten::convolution ? 8 : 6;
  if (node->inputs().size() <= groups_at) return std::nullopt;
  const std::int64_t groups = constantInt(node->input(groups_at)).value_or(1);
  switch (weight.dim()) {
    case 3:
      return floatsFor(weight, {1, weight.size(1) * groups, 16000});
    case 4:
      return floatsFor(weight, {1, weight.size(1) * groups, 224, 224});
    case 5:
      return floatsFor(weight, {1, weight.size(1) * groups, 16, 112, 112});
    default:
      return std::nullopt;
  }
}

// The spec that `node` implies for its operand `at`; nullopt if it implies none.
std::optional<InputSpec> fromConsumer(const Node* node, std::size_t at) {
  const std::string kind = node->kind().toQualString();
  const auto tensorAt = [&](std::size_t index) {
    return index < node->inputs().size() ? constantTensor(node->input(index)) : std::nullopt;
  };
  if (kind.find("conv") != std::string::npos && at == 0 && kind.rfind("aten::", 0) == 0) {
    const auto weight = tensorAt(1);
    return weight ? fromConvolution(node, *weight) : std::nullopt;
  }
  if (kind == "aten::linear" && at == 0) {
    const auto weight = tensorAt(1);
    return weight ? std::optional(floatsFor(*weight, {1, weight->size(1)})) : std::nullopt;
  }
  if ((kind == "aten::matmul" || kind == "aten::mm") && at == 0) {
    const auto weight = tensorAt(1);
    return weight && weight->dim() == 2 ? std::optional(floatsFor(*weight, {1, weight->size(0)})) : std::nullopt;
  }
  if (kind == "aten::addmm" && at == 1) {
    const auto weight = tensorAt(2);
    return weight && weight->dim() == 2 ? std::optional(floatsFor(*weight, {1, weight->size(0)})) : std::nullopt;
  }
  if (kind == "aten::embedding" && at == 1) {
    const auto table = tensorAt(0);
    return table ? std::optional(integers({1, kSequence}, 0, table->size(0) - 1)) : std::nullopt;
  }
  if (kind == "aten::embedding_bag" && at == 1) {
    const auto table = tensorAt(0);
    return table ? std::optional(integers({kBags}, 0, table->size(0) - 1)) : std::nullopt;
  }
  return std::nullopt;
}

// True for operations that leave open which input shape is wanted, so that the search goes on behind them.
bool passesThrough(const Node* node, std::size_t at) {
  static const std::unordered_set<std::string> kKinds = {
      "aten::to",         "aten::contiguous", "aten::sub",   "aten::sub_",  "aten::div", "aten::div_",
      "aten::mul",        "aten::mul_",       "aten::add",   "aten::add_",  "aten::pad", "aten::constant_pad_nd",
      "aten::batch_norm", "aten::dropout",    "aten::clone", "aten::detach"};
  return at == 0 && kKinds.count(node->kind().toQualString()) != 0;
}

std::optional<InputSpec> guess(Value* input) {
  std::vector<Value*> open{input};
  std::unordered_set<Value*> seen;
  for (std::size_t next = 0; next < open.size() && next < 256; ++next) {
    for (const auto& use : open[next]->uses()) {
      if (const auto found = fromConsumer(use.user, use.offset)) return found;
    }
    for (const auto& use : open[next]->uses()) {
      if (!passesThrough(use.user, use.offset)) continue;
      if (seen.insert(use.user->output()).second) open.push_back(use.user->output());
    }
  }
  return std::nullopt;
}

// Index of the argument of forward (without self) that a spec is for: by name, or the next free one for a spec without
// a name.
std::size_t slotOf(const InputSpec& spec, std::size_t order, const c10::FunctionSchema& schema,
                   const std::vector<std::optional<InputSpec>>& chosen) {
  std::string names;
  for (std::size_t a = 0; a < chosen.size(); ++a) {
    const std::string& name = schema.arguments()[a + 1].name();
    if (spec.name.empty() ? a >= order && !chosen[a] : spec.name == name) {
      if (!chosen[a]) return a;
      throw Error(ExitCode::kUsage,
                  fmt::format("'--input {}' gives the input '{}' a second time; remove one.", spec.str(), name));
    }
    names += (a > 0 ? ", " : "") + name;
  }
  throw Error(ExitCode::kUsage,
              fmt::format("The model has no input '{}'; it takes {}.", spec.name, names.empty() ? "none" : names));
}

// A default stays what it is; its text describes it.
InputSpec fixedSpec(const torch::jit::IValue& value) {
  InputSpec spec;
  spec.fixed = value;
  spec.value = inputValueText(value);
  spec.guessed = true;
  return spec;
}

// A value of the type, as --input takes it.
std::string exampleValue(const c10::TypePtr& type) {
  std::vector<std::string> parts;
  if (type->kind() != c10::TypeKind::TensorType) {
    for (const c10::TypePtr& inner : type->containedTypes()) parts.push_back(exampleValue(inner));
  }
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
      return "1x3x224x224";
    case c10::TypeKind::FloatType:
      return "1.0";
    case c10::TypeKind::ComplexType:
      return "1+2j";
    case c10::TypeKind::BoolType:
      return "true";
    case c10::TypeKind::StringType:
      return "text";
    case c10::TypeKind::DeviceObjType:
      return "cpu";
    case c10::TypeKind::OptionalType:
      return exampleValue(type->expectRef<c10::OptionalType>().getElementType());
    case c10::TypeKind::ListType:
      return "[" + parts[0] + "]";
    case c10::TypeKind::DictType:
      return fmt::format("{{{}: {}}}", parts[0], parts[1]);
    case c10::TypeKind::TupleType:
      return fmt::format("({}{})", fmt::join(parts, ", "), parts.size() == 1 ? "," : "");
    default:
      return "1";
  }
}

// True if an operator reads the value that is there for complex numbers alone.
bool readAsComplex(const torch::jit::Value* value) {
  constexpr const char* kKinds[] = {
      "aten::imag",       "aten::view_as_real", "aten::resolve_conj", "aten::_conj",     "aten::conj",
      "aten::real",       "aten::fft_ifft",     "aten::fft_ifft2",    "aten::fft_ifftn", "aten::fft_irfft",
      "aten::fft_irfft2", "aten::fft_irfftn",   "aten::conj_physical"};
  return std::any_of(value->uses().begin(), value->uses().end(), [&](const torch::jit::Use& use) {
    const std::string kind = use.user->kind().toQualString();
    return use.offset == 0 && std::find(std::begin(kKinds), std::end(kKinds), kind) != std::end(kKinds);
  });
}

bool isTensor(const c10::Argument& argument) { return argument.type()->isSubtypeOf(*c10::TensorType::get()); }

}  // namespace

std::vector<ArgumentRecord> inputSignature(const torch::jit::Module& module) {
  const torch::jit::Method forward = module.get_method("forward");
  const auto& arguments = forward.function().getSchema().arguments();
  const auto inputs = forward.graph()->inputs();
  std::vector<ArgumentRecord> signature;
  for (std::size_t a = 1; a < arguments.size(); ++a) {
    const c10::TypePtr& type = arguments[a].type();
    ArgumentRecord record{arguments[a].name(), type->repr_str(), exampleValue(type)};
    if (type->kind() == c10::TypeKind::TensorType && a < inputs.size() && readAsComplex(inputs[a]))
      record.example = "8:complex64";
    signature.push_back(std::move(record));
  }
  return signature;
}

std::string exampleFlag(const ArgumentRecord& argument) {
  const std::string text = argument.name + (argument.type == "Tensor" ? ":" : "=") + argument.example;
  return text.find_first_of("[({") == std::string::npos ? "--input " + text : fmt::format("--input '{}'", text);
}

Error notGuessed(const torch::jit::Module& module, std::size_t argument) {
  const ArgumentRecord record = inputSignature(module)[argument];
  return Error(ExitCode::kUsage,
               fmt::format("The input '{}' ({}) cannot be guessed from the model; add {} with your values.",
                           record.name, record.type, exampleFlag(record)));
}

std::vector<InputSpec> Model::guessInputs() { return completeInputs({}); }

InputChoices chooseInputs(torch::jit::Module& module, const std::vector<InputSpec>& given) {
  const c10::FunctionSchema schema = module.get_method("forward").function().getSchema();
  const std::size_t count = schema.arguments().size() - 1;
  if (given.size() > count) {
    throw Error(ExitCode::kUsage, fmt::format("The model takes {} inputs and {} were given; remove an --input flag.",
                                              count, given.size()));
  }
  InputChoices chosen(count);
  for (std::size_t g = 0; g < given.size(); ++g) chosen[slotOf(given[g], g, schema, chosen)] = given[g];
  std::optional<torch::jit::Module> frozen;
  std::optional<InputSpec> ids;
  for (std::size_t a = 0; a < count; ++a) {
    const c10::Argument& argument = schema.arguments()[a + 1];
    if (!chosen[a] && isTensor(argument)) {
      if (!frozen) frozen = freezeForPasses(module, {});
      chosen[a] = guess(frozen->get_method("forward").graph()->inputs()[a + 1]);
      if (!chosen[a] && ids) chosen[a] = integers({}, 1, 1);  // a mask beside token ids
      if (chosen[a] && chosen[a]->sizes.empty() && ids) chosen[a]->sizes = ids->sizes;
      if (chosen[a]) chosen[a]->guessed = true;
    } else if (!chosen[a] && argument.default_value()) {
      chosen[a] = fixedSpec(*argument.default_value());
    } else if (!chosen[a] && argument.type()->kind() == c10::TypeKind::OptionalType) {
      chosen[a] = fixedSpec({});
    }
    if (!chosen[a]) continue;
    chosen[a]->name = argument.name();
    chosen[a]->type = argument.type();
    if (chosen[a]->fixed) chosen[a]->fixed = asType(*chosen[a]->fixed, argument.type(), argument.name());
    if (chosen[a]->dtype == "int64" && !ids) ids = chosen[a];
  }
  if (frozen) releaseMethods(*frozen);
  return chosen;
}

std::vector<InputSpec> Model::completeInputs(const std::vector<InputSpec>& given) {
  const InputChoices chosen = chooseInputs(module_, given);
  std::vector<InputSpec> specs;
  for (std::size_t a = 0; a < chosen.size(); ++a) {
    if (!chosen[a]) throw notGuessed(module_, a);
    specs.push_back(*chosen[a]);
  }
  return specs;
}

}  // namespace ipex_studio
