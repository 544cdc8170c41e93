// ipex_studio::layer_norm: layer normalization of x, or of x + residual.
#include "kernels/torch/ops/plan_operator.h"

namespace ipex_studio {

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def("layer_norm(Tensor x, Tensor? gamma, Tensor? beta, Tensor? residual, str spec) -> Tensor",
        planOperator({Operand::kInput, Operand::kWeight, Operand::kWeight, Operand::kInput}));
}

}  // namespace ipex_studio
