// Lowering: translates a graph node into OpSpecs, or says why a plan cannot do it.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "core/op/op_spec.h"
#include "core/op/plan_spec.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

// An operand: a value of the graph, a constant tensor, the result of an earlier operation of the same node, or absent.
struct LoweredOperand {
  torch::jit::Value* value = nullptr;
  at::Tensor constant;
  std::int32_t local = -1;
  std::int32_t result = 0;  // of that operation
  bool absent() const { return value == nullptr && !constant.defined() && local < 0; }
};

// An attribute (entry `index`, or the scalar for -1) that takes the integer `value` of the graph.
struct LoweredRef {
  std::string attribute;
  std::int32_t index = -1;
  torch::jit::Value* value = nullptr;
};

struct LoweredOp {
  OpSpec spec;
  std::vector<LoweredOperand> src;
  std::vector<LoweredRef> refs;
  std::vector<torch::jit::Value*> dst;  // empty: only later operations of this node read it (as local)
  int results = 1;                      // number of results if dst is empty
};

// The operations of one node, in order.
struct LoweredNode {
  std::vector<LoweredOp> ops;
};

// The reason why a node cannot be lowered: `reason` is a code of reasons.h and `why` a sentence.
struct LoweringDecline {
  const char* reason = "";
  std::string why;
};
std::variant<LoweredNode, LoweringDecline> lowerNode(torch::jit::Node* node);

// True if there are kernels for low-precision floats of this type (at::kBFloat16, at::kHalf); otherwise a plan would
// run the reference.
bool takesLowPrecisionFloat(OpKind kind, at::ScalarType dtype);

// True if a plan can hold this tensor: its type is known from the example run and known to plans, and it has few enough
// dimensions.
bool fitsPlans(const torch::jit::Value* tensor);

// True for integer arithmetic on sizes that a plan can do itself: aten::size(t, axis), len arithmetic, literals.
bool isSizeArithmetic(const torch::jit::Node* node);
// The operation by which a plan computes such a node; nullopt for others.
std::optional<IntOp> sizeOperation(const torch::jit::Node* node);

}  // namespace ipex_studio
