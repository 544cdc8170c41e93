// Lowering of tensors that a model makes from sizes and a number: a constant expanded to that size. Plans compute
// values that depend on sizes and constants alone only once.
#include "core/lower/lowering_builder.h"

namespace ipex_studio::lowering {
namespace {

using torch::jit::Node;
using torch::jit::Value;

at::Tensor scalarFor(const Value* result, double number) {
  const auto dtype = knownDtype(result);
  if (dtype != at::kFloat && dtype != at::kLong && dtype != at::kBool) {
    decline(reasons::kUnsupportedDtype, "The new tensor is of another type than float32, int64 or bool.");
  }
  return at::full(std::vector<std::int64_t>(static_cast<std::size_t>(needRank(result)), 1), number,
                  at::TensorOptions(*dtype));
}

LoweredNode filled(Node* node, Value* sizes, double number) {
  OpSpec spec;
  std::vector<LoweredRef> refs;
  spec.kind = OpKind::kExpand;
  intsOrRefs(sizes, "shape", spec, refs);
  return single(spec, {use(scalarFor(node->output(), number))}, {node->output()}, refs);
}

// aten::zeros(size, …), aten::new_zeros(self, size, …) and the like
LoweredNode lowerZeros(Node* node) { return filled(node, node->input(0), 0); }
LoweredNode lowerOnes(Node* node) { return filled(node, node->input(0), 1); }
LoweredNode lowerFull(Node* node) { return filled(node, node->input(0), needNumber(node->input(1), "fill_value")); }
LoweredNode lowerNewZeros(Node* node) { return filled(node, node->input(1), 0); }
LoweredNode lowerNewOnes(Node* node) { return filled(node, node->input(1), 1); }
LoweredNode lowerNewFull(Node* node) { return filled(node, node->input(1), needNumber(node->input(2), "fill_value")); }

// A tensor of `node`'s first operand's sizes, filled with the number.
LoweredNode filledLike(Node* node, double number) {
  Steps steps;
  const auto dtype = knownDtype(node->output());
  if (isCountable(node->input(0)) && dtype == at::kLong) {
    steps.integers("add", steps.integers("mul", use(node->input(0)), std::int64_t{0}),
                   static_cast<std::int64_t>(number));
    return steps.finish(node);
  }
  if (dtype != at::kFloat && dtype != at::kBool)
    decline(reasons::kUnsupportedDtype, "The new tensor is of another type than float32, int64 or bool.");
  const double filling = dtype == at::kFloat ? number : number != 0 ? 1 : 0;
  const LoweredOperand filled = steps.chain({binaryPostOp(PostOpKind::kFill, 0, filling)},
                                            {asFloat(steps, node->input(0)), use(at::ones({}, at::kFloat))});
  if (dtype == at::kBool) steps.cast(filled, "bool");
  return steps.finish(node);
}

// aten::zeros_like(self, …), aten::fill(self, value)
LoweredNode lowerZerosLike(Node* node) { return filledLike(node, 0); }
LoweredNode lowerOnesLike(Node* node) { return filledLike(node, 1); }
LoweredNode lowerFullLike(Node* node) { return filledLike(node, needNumber(node->input(1), "fill_value")); }

}  // namespace

void addFactoryLowerings(Table& table) {
  table["aten::zeros"] = lowerZeros;
  table["aten::ones"] = lowerOnes;
  table["aten::full"] = lowerFull;
  table["aten::new_zeros"] = lowerNewZeros;
  table["aten::new_ones"] = lowerNewOnes;
  table["aten::new_full"] = lowerNewFull;
  table["aten::zeros_like"] = lowerZerosLike;
  table["aten::ones_like"] = lowerOnesLike;
  table["aten::full_like"] = lowerFullLike;
  table["aten::fill"] = lowerFullLike;
}

}  // namespace ipex_studio::lowering
