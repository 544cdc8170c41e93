// Elementwise nodes read as post-ops on one of their operands, on whichever side the tensor of interest stands.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/fused_op.h"

namespace ipex_studio {

struct Elementwise {
  torch::jit::Value* data = nullptr;     // the operand that the post-ops are applied to
  torch::jit::Value* operand = nullptr;  // the other tensor of a binary post-op; null for unary ones
  std::vector<PostOp> post_ops;          // in order; a binary one is last and has operand 0
};

// False for kinds that readElementwise() and readUnaryPostOp() never read.
bool mayBeElementwise(c10::Symbol kind);

// Reads `node` as post-ops on its input `data_index` (0 or 1). Returns nullopt if it is not elementwise, an attribute
// is not constant, or that input is not a tensor. a - alpha·v on input 1 becomes linear(alpha,0), rsub.
std::optional<Elementwise> readElementwise(torch::jit::Node* node, std::size_t data_index = 0);

// Reads a constant number, or a constant tensor that acts as one beside `data`: it changes neither the rank nor the
// dtype of `data`.
std::optional<double> scalarOperand(const torch::jit::Value* value, const torch::jit::Value* data);

// True if a tensor of `operand` sizes broadcasts to `result` without enlarging it. Decided on ranks and on sizes that
// are 1, which the example run fixes; other sizes are compared again when a plan is compiled.
bool broadcastsTo(const std::vector<std::int64_t>& operand, const std::vector<std::int64_t>& result);

}  // namespace ipex_studio
