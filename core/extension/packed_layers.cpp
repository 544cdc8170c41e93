#include "core/extension/packed_layers.h"

#include <fmt/format.h>
#include <torch/csrc/jit/frontend/script_type_parser.h>

#include "core/base/error.h"

namespace ipex_studio {

using torch::jit::IValue;

namespace {

constexpr char kClasses[] = "__torch__.torch.classes.ipex_prepack.";

// The types of lists and optionals in a pickle are those of what they hold, so elements are compared one by one.
bool fits(const IValue& value, const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::OptionalType)
    return value.isNone() || fits(value, type->expectRef<c10::OptionalType>().getElementType());
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
      return value.isTensor() && value.toTensor().defined();
    case c10::TypeKind::IntType:
      return value.isInt();
    case c10::TypeKind::BoolType:
      return value.isBool();
    case c10::TypeKind::NoneType:
      return value.isNone();
    default:
      return value.isIntList();
  }
}

// False for kinds of integers other than those of 8 bits, 4 bits and NF4.
bool isKnownKind(const PackedLayer& layer, const IValue& state) {
  if (std::string(layer.name) != "WoqLinear") return true;
  const std::int64_t kind = state.toTupleRef().elements()[1].toInt();
  return kind >= 1 && kind <= 3;
}

}  // namespace

const std::vector<PackedLayer>& packedLayers() {
  static const std::vector<PackedLayer> layers = {
      // weight, bias, stride, padding, dilation, groups, channels-last, input sizes
      {"Convolution", "Tuple[Tensor, Optional[Tensor], List[int], List[int], List[int], int, bool, List[int]]"},
      // weight, bias, stride, padding, output padding, groups, dilation, channels-last, input sizes
      {"ConvTranspose",
       "Tuple[Tensor, Optional[Tensor], List[int], List[int], List[int], int, List[int], bool, List[int]]"},
      // weight, bias, batch
      {"Linear", "Tuple[Tensor, Optional[Tensor], Optional[int]]"},
      {"MKL", "Tuple[Tensor, Optional[Tensor], Optional[int]]"},
      // integers, their kind (8 bits, 4 bits, NF4), weight's sizes, scales, zero points, bias, an order of the columns,
      // batch, columns of a group, precision of the product, how the input is rounded, whether large batches have
      // weights of their own
      {"WoqLinear",
       "Tuple[Tensor, int, List[int], Tensor, Optional[Tensor], Optional[Tensor], None, Optional[int], int, int, int, "
       "bool]"}};
  return layers;
}

std::string packedClassName(const PackedLayer& layer) { return std::string(kClasses) + layer.name + "OpContext"; }

const PackedLayer* packedLayerOf(const c10::TypePtr& type) {
  const auto named = type->cast<c10::ClassType>();
  if (!named || !named->name()) return nullptr;
  for (const PackedLayer& layer : packedLayers()) {
    if (named->name()->qualifiedName() == packedClassName(layer)) return &layer;
  }
  return nullptr;
}

c10::TypePtr packedStateType(const PackedLayer& layer) { return torch::jit::ScriptTypeParser().parseType(layer.state); }

IValue packedState(const PackedLayer& layer, const IValue& object) {
  const IValue state = object.type()->expectRef<c10::ClassType>().getMethod("__getstate__")({object});
  const c10::TypePtr type = packedStateType(layer);
  const auto types = type->containedTypes();
  bool sound = state.isTuple() && state.toTupleRef().elements().size() == types.size();
  for (std::size_t i = 0; sound && i < types.size(); ++i) sound = fits(state.toTupleRef().elements()[i], types[i]);
  if (!sound || !isKnownKind(layer, state)) {
    throw Error(
        ExitCode::kBadModel,
        fmt::format("An ipex_prepack.{}OpContext in the model holds weights in a form that is not known here; save the "
                    "model without ipex.optimize.",
                    layer.name));
  }
  std::vector<IValue> parts;
  for (const IValue& part : state.toTupleRef().elements())
    parts.push_back(part.isTensor() ? IValue(part.toTensor().detach()) : part);  // parameters cannot be constants
  return c10::ivalue::Tuple::create(std::move(parts));
}

}  // namespace ipex_studio
