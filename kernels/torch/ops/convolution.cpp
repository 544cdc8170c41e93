// ipex_studio::convolution: x convolved with w, plus b, then post-operations. Stride, padding, dilation and groups
// stand in `spec`.
#include "kernels/torch/ops/plan_operator.h"

namespace ipex_studio {

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def("convolution(Tensor x, Tensor w, Tensor? b, Tensor[] post_args, str spec) -> Tensor",
        planOperator({Operand::kInput, Operand::kWeight, Operand::kWeight, Operand::kInputs}));
}

}  // namespace ipex_studio
