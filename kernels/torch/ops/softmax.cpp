// ipex_studio::softmax: softmax(scale·x + mask) over one axis, or its logarithm.
#include "kernels/torch/ops/plan_operator.h"

namespace ipex_studio {

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def("softmax(Tensor x, Tensor? mask, str spec) -> Tensor", planOperator({Operand::kInput, Operand::kInput}));
}

}  // namespace ipex_studio
