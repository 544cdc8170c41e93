// ipex_studio::interaction: products of all pairs of features, behind the values of the first one or alone; and the
// gradients of all features, given that of its result.
#include "kernels/torch/ops/plan_operator.h"

namespace ipex_studio {

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def("interaction(Tensor[] features, str spec) -> Tensor", planOperator({Operand::kInputs}));
  m.def("interaction_backward(Tensor gradient, Tensor[] features, str spec) -> Tensor",
        planOperator({Operand::kInput, Operand::kInputs}));
}

}  // namespace ipex_studio
