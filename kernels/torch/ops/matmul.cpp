// ipex_studio::matmul: the product of two matrices or batches of them, scaled and transposed as `spec` says, then
// post-operations.
#include "kernels/torch/ops/plan_operator.h"

namespace ipex_studio {

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def("matmul(Tensor a, Tensor b, Tensor[] post_args, str spec) -> Tensor",
        planOperator({Operand::kInput, Operand::kInput, Operand::kInputs}));
}

}  // namespace ipex_studio
