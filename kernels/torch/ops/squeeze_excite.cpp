// ipex_studio::squeeze_excite: x · gate(expand·activation(reduce·mean(x) + b) + c), then post-operations.
#include "kernels/torch/ops/plan_operator.h"

namespace ipex_studio {

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def(
      "squeeze_excite(Tensor x, Tensor reduce, Tensor? b, Tensor expand, Tensor? c, Tensor[] post_args, str spec) -> "
      "Tensor",
      planOperator(
          {Operand::kInput, Operand::kWeight, Operand::kWeight, Operand::kWeight, Operand::kWeight, Operand::kInputs}));
}

}  // namespace ipex_studio
