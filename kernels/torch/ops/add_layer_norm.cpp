// ipex_studio::add_layer_norm: layer normalization of x + residual, and that sum as the second result.
#include "kernels/torch/ops/plan_operator.h"

namespace ipex_studio {

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def("add_layer_norm(Tensor x, Tensor? gamma, Tensor? beta, Tensor residual, str spec) -> (Tensor, Tensor)",
        planOperator({Operand::kInput, Operand::kWeight, Operand::kWeight, Operand::kInput}, /*results=*/2));
}

}  // namespace ipex_studio
