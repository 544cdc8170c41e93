// ipex_studio::attention: softmax(scale·q·kᵀ + mask)·v.
#include "kernels/torch/ops/plan_operator.h"

namespace ipex_studio {

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def("attention(Tensor q, Tensor k, Tensor v, Tensor? mask, str spec) -> Tensor",
        planOperator({Operand::kInput, Operand::kInput, Operand::kInput, Operand::kInput}));
}

}  // namespace ipex_studio
