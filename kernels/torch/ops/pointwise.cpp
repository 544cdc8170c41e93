// ipex_studio::pointwise: a chain of post-operations on x.
#include "kernels/torch/ops/plan_operator.h"

namespace ipex_studio {

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def("pointwise(Tensor x, Tensor[] post_args, str spec) -> Tensor",
        planOperator({Operand::kInput, Operand::kInputs}));
}

}  // namespace ipex_studio
