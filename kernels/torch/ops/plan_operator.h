// Operators whose calls are plans of one step, with the weights packed once.
//
// A file for each registers it, with its schema: the operands in order, then `str spec`, the text of an OpSpec
// (core/op/op_spec.h). kernels/torch/ops/linear.cpp is an example.
#pragma once

#include <vector>

#include <torch/library.h>

namespace ipex_studio {

// What an argument is to the plan. None and undefined tensors are absent operands.
enum class Operand {
  kInput,   // Tensor or Tensor?, of any values in each call
  kWeight,  // Tensor or Tensor?, packed and kept until it is freed or written
  kInputs,  // Tensor[], each an input: the operands of post-operations
};

// The kernel of such an operator, which owns its plans (kernels/torch/ops/call_sites.h). `roles`: of all arguments but
// the last. `results`: how many of the plan's results it returns. Thread-safe. Calls throw Error(kFailure) when no
// kernel takes the operands, Error(kBadModel) when the specification is damaged.
torch::CppFunction planOperator(std::vector<Operand> roles, std::size_t results = 1);

}  // namespace ipex_studio
