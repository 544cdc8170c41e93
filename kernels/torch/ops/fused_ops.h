// Fused operators as the TorchScript interpreter runs them: each is a plan of one step with packed weights.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <torch/script.h>

#include "core/op/op_spec.h"

namespace ipex_studio {

// One operand; `constant`: may be packed and kept (weights, biases).
struct FusedOperand {
  std::optional<at::Tensor> tensor;
  bool constant = false;
};

// Runs `spec` on the operands. Plans are kept for the last 256 (spec, weights) pairs; a weight that was freed or written
// since is packed anew. Thread-safe. Throws Error(kFailure) when no kernel takes it.
std::vector<at::Tensor> runFusedOp(const std::string& spec, const std::vector<FusedOperand>& operands);

}  // namespace ipex_studio
