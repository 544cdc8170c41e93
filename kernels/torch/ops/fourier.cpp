// ipex_studio::fourier: Fourier transforms of real frames, as pairs of real and imaginary parts or as their lengths.
#include "kernels/torch/ops/plan_operator.h"

namespace ipex_studio {

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def("fourier(Tensor x, Tensor? window, str spec) -> Tensor", planOperator({Operand::kInput, Operand::kInput}));
}

}  // namespace ipex_studio
