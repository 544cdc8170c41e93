// Lowering of fused operators and elementwise nodes, and the table of all other lowerings.
#include "core/lower/lowering.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/elementwise.h"
#include "core/graph/node_facts.h"
#include "core/lower/lowering_builder.h"
#include "core/torch/tensor_bridge.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace lowering {

std::int64_t needInt(Value* value, const char* what) {
  const auto constant = constantInt(value);
  if (!constant) decline(reasons::kNotConstant, fmt::format("'{}' is computed at run time.", what));
  return *constant;
}

bool needBool(Value* value, const char* what) {
  const auto constant = constantBool(value);
  if (!constant) decline(reasons::kNotConstant, fmt::format("'{}' is computed at run time.", what));
  return *constant;
}

double needNumber(Value* value, const char* what) {
  const auto constant = constantNumber(value);
  if (!constant) decline(reasons::kNotConstant, fmt::format("'{}' is computed at run time.", what));
  return *constant;
}

std::vector<std::int64_t> needInts(Value* value, const char* what) {
  const auto constant = constantInts(value);
  if (!constant) decline(reasons::kNotConstant, fmt::format("'{}' is computed at run time.", what));
  return *constant;
}

OpSpec needSpec(Node* node) {
  const auto text = torch::jit::constant_as<std::string>(node->inputs().back());
  if (!text) decline(reasons::kNotConstant, "The operation's description is computed at run time.");
  return parseOpSpec(*text);
}

void intOrRef(Value* value, const std::string& attribute, OpSpec& spec, std::vector<LoweredRef>& refs) {
  const auto constant = constantInt(value);
  spec.attributes[attribute] = constant.value_or(0);
  if (!constant) refs.push_back({attribute, -1, value});
}

void intsOrRefs(Value* list, const std::string& attribute, OpSpec& spec, std::vector<LoweredRef>& refs) {
  if (const auto constant = constantInts(list)) {
    spec.attributes[attribute] = *constant;
    return;
  }
  std::vector<std::int64_t> entries;
  for (Value* entry : needList(list)) {
    const auto constant = constantInt(entry);
    if (!constant) refs.push_back({attribute, static_cast<std::int32_t>(entries.size()), entry});
    entries.push_back(constant.value_or(0));
  }
  spec.attributes[attribute] = entries;
}

int needRank(const Value* value) {
  const auto sizes = knownSizes(value);
  if (!sizes) decline(reasons::kUnknownShape, "The number of dimensions was not seen in the example run.");
  return static_cast<int>(sizes->size());
}

void needFloat(const Value* value) {
  const auto dtype = knownDtype(value);
  if (!dtype) decline(reasons::kUnknownShape, "The type was not seen in the example run.");
  if (*dtype != at::kFloat && !isLowPrecisionFloat(*dtype)) {
    decline(reasons::kUnsupportedDtype,
            fmt::format("Plans compute in FP32, BF16 and FP16; this is {}.", c10::toString(*dtype)));
  }
}

bool isComplex(const Value* value) { return knownDtype(value) == at::kComplexFloat; }

void needFloatOrComplex(const Value* value) {
  if (!isComplex(value)) needFloat(value);
}

bool isInteger8(const Value* value) {
  const auto dtype = knownDtype(value);
  return dtype == at::kByte || dtype == at::kChar;
}

void needFloatOrInteger8(const Value* value) {
  if (!isInteger8(value)) needFloat(value);
}

int wrapAxis(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= std::max(rank, 1))
    decline(reasons::kUnsupportedAttribute, "A dimension is out of range.");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

LoweredOperand onesAlong(Steps& steps, LoweredOperand x, const std::vector<std::int64_t>& axes, int rank) {
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) continue;
    x = steps.add(OpKind::kSlice,
                  {{"axis", axis}, {"begin", std::int64_t{0}}, {"end", std::int64_t{1}}, {"step", std::int64_t{1}}},
                  {x});
  }
  return steps.chain({binaryPostOp(PostOpKind::kFill, 0, 1)}, {x, use(at::ones({}, at::kFloat))});
}

std::vector<Value*> needList(Value* list) {
  if (!decidedElements(list)) decline(reasons::kNotConstant, "A list is computed at run time.");
  return list->node()->inputs().vec();
}

namespace {

const Table& table() {
  static const Table all = [] {
    Table made;
    addComputeLowerings(made);
    addPoolingLowerings(made);
    addViewLowerings(made);
    addAttentionLowerings(made);
    addLanguageLowerings(made);
    addLogicLowerings(made);
    addComposedLowerings(made);
    addFactoryLowerings(made);
    addRecurrentLowerings(made);
    addOrderLowerings(made);
    addIndexingLowerings(made);
    addWindowLowerings(made);
    return made;
  }();
  return all;
}

// Integers in stock operators wrap around and are declined; our operators treat them as real numbers.
LoweredNode lowerFused(Node* node, const FusedOp& fused) {
  const bool own = !node->kind().is_aten();
  const auto need = own ? needFloatOrInteger8 : needFloat;
  need(node->output());
  std::vector<LoweredOperand> src;
  for (Value* operand : fused.base) {
    if (!isNone(operand)) need(operand);
    src.push_back(use(operand));
  }
  for (Value* operand : fused.post_args) {
    need(operand);
    src.push_back(use(operand));
  }
  return single(fused.spec, std::move(src), {node->output()});
}

// Lowers an elementwise node to a pointwise chain on its larger operand.
LoweredNode lowerElementwise(Node* node, const Elementwise& elementwise) {
  needFloat(node->output());
  const bool counts =
      isCountable(elementwise.data) || (elementwise.operand != nullptr && isCountable(elementwise.operand));
  if (counts && knownDtype(node->output()) != at::kFloat)
    decline(reasons::kMixedDtype, "Integers meet low-precision floats.");
  Steps steps;
  std::vector<LoweredOperand> src{asFloat(steps, elementwise.data)};
  if (elementwise.operand != nullptr) src.push_back(asFloat(steps, elementwise.operand));
  const bool first_is_integer = isCountable(elementwise.data);
  steps.chain(elementwise.post_ops, std::move(src));
  LoweredNode lowered = steps.finish(node);
  // The result is the wider one of two types of floats, whichever operand stands first.
  const auto result = *knownDtype(node->output());
  const auto first = first_is_integer ? at::kFloat : *knownDtype(elementwise.data);
  if (result != first) lowered.ops.back().spec.attributes["result"] = std::string(dtypeName(dtypeOf(result)));
  return lowered;
}

std::optional<Elementwise> elementwiseOf(Node* node) {
  std::optional<Elementwise> first = readElementwise(node, 0);
  if (node->inputs().size() < 2) return first;
  const std::optional<Elementwise> second = readElementwise(node, 1);
  if (!first || !first->operand || !second) return first ? first : second;
  const auto sizes = knownSizes(first->data);
  const auto result = knownSizes(node->output());
  const bool first_is_full = sizes && result && *sizes == *result;
  return first_is_full ? first : second;
}

// Views accept tensors of any type, so types that plans cannot hold are declined here.
LoweredNode requireFitting(LoweredNode lowered) {
  for (const LoweredOp& op : lowered.ops) {
    const auto require = [&](const Value* tensor) {
      if (!fitsPlans(tensor))
        decline(reasons::kUnsupportedDtype, "Plans hold no tensors of this type or with so many dimensions.");
      const auto dtype = knownDtype(tensor);
      if (isLowPrecisionFloat(dtype) && !takesLowPrecisionFloat(op.spec.kind, *dtype)) {
        decline(reasons::kUnsupportedDtype,
                fmt::format("Plans do this in FP32 only; this is {}.", c10::toString(*dtype)));
      }
    };
    for (const LoweredOperand& operand : op.src) {
      if (operand.value != nullptr) require(operand.value);
    }
    for (const Value* result : op.dst) require(result);
  }
  requireSizes(lowered);
  return lowered;
}

}  // namespace
}  // namespace lowering

std::variant<LoweredNode, LoweringDecline> lowerNode(Node* node) {
  using namespace lowering;
  try {
    std::string why;
    if (const auto complex = lowerComplex(node, table())) return requireFitting(*complex);
    if (const auto fused = readFusedOp(node, &why)) return requireFitting(lowerFused(node, *fused));
    if (!why.empty()) decline(reasons::kUnsupportedAttribute, why);
    const auto found = table().find(node->kind().toQualString());
    if (found != table().end()) return requireFitting(found->second(node));
    if (const auto integers = lowerIntegerMath(node)) return requireFitting(*integers);
    if (const auto elementwise = elementwiseOf(node)) return requireFitting(lowerElementwise(node, *elementwise));
    if (const auto sized = lowerWithSize(node)) return requireFitting(*sized);
    if (!node->blocks().empty()) decline(reasons::kControlFlow, "Control flow stays in the interpreter.");
    decline(reasons::kUnsupportedOperator, fmt::format("Plans do not know {}.", node->kind().toQualString()));
  } catch (const Declined& declined) {
    return declined.decline;
  }
}

bool takesLowPrecisionFloat(OpKind kind, at::ScalarType dtype) {
  switch (opKindRow(kind).low_precision) {
    case LowPrecision::kNone:
      return false;
    case LowPrecision::kBf16:
      return dtype == at::kBFloat16;
    case LowPrecision::kBf16AndFp16:
      return true;
  }
  return false;
}

bool fitsPlans(const Value* tensor) {
  const auto dtype = knownDtype(tensor);
  const auto sizes = knownSizes(tensor);
  if (dtype == at::kComplexFloat) return sizes && sizes->size() < kMaxRank;
  return dtype && sizes && dtypeOf(*dtype) != DType::kNone && sizes->size() <= kMaxRank;
}

std::optional<IntOp> sizeOperation(const Node* node) {
  struct Row {
    IntOp op;
    std::size_t arity;
  };
  static const std::unordered_map<std::string, Row> kRows = {
      {"aten::add", {IntOp::kAdd, 2}},           {"aten::sub", {IntOp::kSub, 2}},       {"aten::mul", {IntOp::kMul, 2}},
      {"aten::floordiv", {IntOp::kFloorDiv, 2}}, {"aten::remainder", {IntOp::kMod, 2}}, {"aten::neg", {IntOp::kNeg, 1}},
      {"prim::max", {IntOp::kMax, 2}},           {"prim::min", {IntOp::kMin, 2}}};
  const auto is_int = [](const Value* value) { return value->type()->isSubtypeOf(*c10::IntType::get()); };
  if (node->outputs().size() != 1 || !is_int(node->output())) return std::nullopt;
  const std::string kind = node->kind().toQualString();
  if (kind == "aten::size") {
    const bool fits = node->inputs().size() == 2 && constantInt(node->input(1)) && fitsPlans(node->input(0));
    return fits ? std::make_optional(IntOp::kSize) : std::nullopt;
  }
  const auto found = kRows.find(kind);
  if (found == kRows.end() || node->inputs().size() != found->second.arity) return std::nullopt;
  return std::all_of(node->inputs().begin(), node->inputs().end(), is_int) ? std::make_optional(found->second.op)
                                                                           : std::nullopt;
}

bool isSizeArithmetic(const Node* node) { return sizeOperation(node).has_value(); }

}  // namespace ipex_studio
