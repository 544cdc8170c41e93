// ipex_studio::linear: x·wᵀ + b, then post-operations.
#include "kernels/torch/ops/plan_operator.h"

namespace ipex_studio {

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def("linear(Tensor x, Tensor w, Tensor? b, Tensor[] post_args, str spec) -> Tensor",
        planOperator({Operand::kInput, Operand::kWeight, Operand::kWeight, Operand::kInputs}));
}

}  // namespace ipex_studio
