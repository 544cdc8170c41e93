// Lowering of comparisons, boolean logic and choices by masks. Inside these operations a boolean is 1 or 0 in FP32.
#include <limits>

#include "core/lower/lowering_builder.h"

namespace ipex_studio::lowering {
namespace {

using torch::jit::Node;
using torch::jit::Value;

void needBoolean(const Value* value) {
  if (knownDtype(value) != at::kBool) decline(reasons::kUnsupportedDtype, "The operand is not known to be boolean.");
}

// An FP32 tensor, or a constant number as a tensor.
LoweredOperand floatOrNumber(Value* value) {
  if (value->type()->isSubtypeOf(*c10::TensorType::get())) {
    needFloat(value);
    return use(value);
  }
  return use(at::scalar_tensor(needNumber(value, "other"), at::kFloat));
}

LoweredNode compare(Node* node, PostOpKind kind) {
  if (const auto integers = integerComparison(node, postOpName(kind))) return *integers;
  needFloat(node->input(0));
  Steps steps;
  steps.cast(steps.chain({binaryPostOp(kind, 0)}, {use(node->input(0)), floatOrNumber(node->input(1))}), "bool");
  return steps.finish(node);
}
LoweredNode lowerEq(Node* node) { return compare(node, PostOpKind::kEq); }
LoweredNode lowerNe(Node* node) { return compare(node, PostOpKind::kNe); }
LoweredNode lowerLt(Node* node) { return compare(node, PostOpKind::kLt); }
LoweredNode lowerLe(Node* node) { return compare(node, PostOpKind::kLe); }
LoweredNode lowerGt(Node* node) { return compare(node, PostOpKind::kGt); }
LoweredNode lowerGe(Node* node) { return compare(node, PostOpKind::kGe); }

LoweredNode logical(Node* node, PostOpKind kind) {
  needBoolean(node->input(0));
  needBoolean(node->input(1));
  Steps steps;
  const LoweredOperand a = steps.cast(use(node->input(0)), "f32"), b = steps.cast(use(node->input(1)), "f32");
  steps.cast(steps.chain({binaryPostOp(kind, 0)}, {a, b}), "bool");
  return steps.finish(node);
}
LoweredNode lowerAnd(Node* node) { return logical(node, PostOpKind::kMul); }
LoweredNode lowerOr(Node* node) { return logical(node, PostOpKind::kMax); }
LoweredNode lowerXor(Node* node) { return logical(node, PostOpKind::kNe); }

LoweredNode lowerNot(Node* node) {
  needBoolean(node->input(0));
  Steps steps;
  const LoweredOperand a = steps.cast(use(node->input(0)), "f32");
  steps.cast(steps.chain({unaryPostOp(PostOpKind::kLinear, -1, 1)}, {a}), "bool");
  return steps.finish(node);
}

// aten::masked_fill(x, mask, number)
LoweredNode lowerMaskedFill(Node* node) {
  needBoolean(node->input(1));
  if (knownDtype(node->output()) == at::kLong)
    return integerChoice(node, node->input(1), node->input(2), node->input(0));
  needFloat(node->input(0));
  const double number = needNumber(node->input(2), "value");
  Steps steps;
  const LoweredOperand mask = steps.cast(use(node->input(1)), "f32");
  steps.chain({binaryPostOp(PostOpKind::kFill, 0, number)}, {use(node->input(0)), mask});
  return steps.finish(node);
}

// aten::where(condition, a, b), either a number or both tensors.
LoweredNode lowerWhere(Node* node) {
  if (node->inputs().size() != 3)
    decline(reasons::kUnsupportedAttribute, "The places of true values depend on the data.");
  needBoolean(node->input(0));
  if (knownDtype(node->output()) == at::kLong)
    return integerChoice(node, node->input(0), node->input(1), node->input(2));
  needFloat(node->output());
  const auto a = constantNumber(node->input(1)), b = constantNumber(node->input(2));
  Steps steps;
  const LoweredOperand condition = steps.cast(use(node->input(0)), "f32");
  if (b) {
    steps.chain({binaryPostOp(PostOpKind::kKeep, 0, *b)}, {floatOrNumber(node->input(1)), condition});
  } else if (a) {
    steps.chain({binaryPostOp(PostOpKind::kFill, 0, *a)}, {floatOrNumber(node->input(2)), condition});
  } else {
    needFloat(node->input(1));
    needFloat(node->input(2));
    const LoweredOperand kept = steps.chain({binaryPostOp(PostOpKind::kKeep, 0, 0)}, {use(node->input(1)), condition});
    steps.chain({binaryPostOp(PostOpKind::kFill, 0, 0), binaryPostOp(PostOpKind::kAdd, 1)},
                {use(node->input(2)), condition, kept});
  }
  return steps.finish(node);
}

// A number that may be None.
double numberOr(Value* value, double otherwise, const char* what) {
  return isNone(value) ? otherwise : needNumber(value, what);
}

// aten::nan_to_num(x, nan?, posinf?, neginf?)
LoweredNode lowerNanToNum(Node* node) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kGreatest = std::numeric_limits<float>::max();
  needFloat(node->input(0));
  const double nan = numberOr(node->input(1), 0, "nan"), most = numberOr(node->input(2), kGreatest, "posinf"),
               least = numberOr(node->input(3), -kGreatest, "neginf");
  Steps steps;
  const LoweredOperand x = use(node->input(0));
  const auto equals = [&](double number) {
    return steps.chain({binaryPostOp(PostOpKind::kEq, 0)}, {x, use(at::scalar_tensor(number, at::kFloat))});
  };
  std::vector<PostOp> ops;
  std::vector<LoweredOperand> operands{x};
  if (most == kGreatest && least == -kGreatest) {
    ops.push_back(unaryPostOp(PostOpKind::kClip, least, most));
  } else {
    operands.insert(operands.end(), {equals(kInfinity), equals(-kInfinity)});
    ops = {binaryPostOp(PostOpKind::kFill, 0, most), binaryPostOp(PostOpKind::kFill, 1, least)};
  }
  operands.push_back(steps.chain({binaryPostOp(PostOpKind::kNe, 0)}, {x, x}));
  ops.push_back(binaryPostOp(PostOpKind::kFill, static_cast<std::int32_t>(operands.size()) - 2, nan));
  steps.chain(std::move(ops), std::move(operands));
  return steps.finish(node);
}

// Whether a number without its sign stands in a relation to infinity.
LoweredNode comparedToInfinity(Node* node, PostOpKind kind) {
  needFloat(node->input(0));
  Steps steps;
  const LoweredOperand infinity = use(at::scalar_tensor(std::numeric_limits<double>::infinity(), at::kFloat));
  steps.cast(steps.chain({unaryPostOp(PostOpKind::kAbs), binaryPostOp(kind, 0)}, {use(node->input(0)), infinity}),
             "bool");
  return steps.finish(node);
}
LoweredNode lowerIsInf(Node* node) { return comparedToInfinity(node, PostOpKind::kEq); }
LoweredNode lowerIsFinite(Node* node) { return comparedToInfinity(node, PostOpKind::kLt); }

// aten::isnan(x): what differs from itself
LoweredNode lowerIsNan(Node* node) {
  needFloat(node->input(0));
  Steps steps;
  const LoweredOperand x = use(node->input(0));
  steps.cast(steps.chain({binaryPostOp(PostOpKind::kNe, 0)}, {x, x}), "bool");
  return steps.finish(node);
}

}  // namespace

void addLogicLowerings(Table& table) {
  table["aten::eq"] = lowerEq;
  table["aten::ne"] = lowerNe;
  table["aten::lt"] = lowerLt;
  table["aten::le"] = lowerLe;
  table["aten::gt"] = lowerGt;
  table["aten::ge"] = lowerGe;
  for (const char* kind : {"aten::logical_and", "aten::bitwise_and", "aten::__and__"}) table[kind] = lowerAnd;
  for (const char* kind : {"aten::logical_or", "aten::bitwise_or", "aten::__or__"}) table[kind] = lowerOr;
  for (const char* kind : {"aten::logical_xor", "aten::bitwise_xor", "aten::__xor__"}) table[kind] = lowerXor;
  for (const char* kind : {"aten::logical_not", "aten::bitwise_not"}) table[kind] = lowerNot;
  table["aten::masked_fill"] = lowerMaskedFill;
  table["aten::where"] = lowerWhere;
  table["aten::nan_to_num"] = lowerNanToNum;
  table["aten::isnan"] = lowerIsNan;
  table["aten::isinf"] = lowerIsInf;
  table["aten::isfinite"] = lowerIsFinite;
}

}  // namespace ipex_studio::lowering
