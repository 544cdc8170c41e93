// ipex_studio::rotary: rotary position embedding with a row of sines and cosines for each row of x.
#include "kernels/torch/ops/plan_operator.h"

namespace ipex_studio {

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def("rotary(Tensor x, Tensor cos, Tensor sin, str spec) -> Tensor",
        planOperator({Operand::kInput, Operand::kInput, Operand::kInput}));
}

}  // namespace ipex_studio
