// ipex_studio::gather_scatter: the sums, means or extremes, per row, of what edges carry there from other rows.
#include "kernels/torch/ops/plan_operator.h"

namespace ipex_studio {

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def("gather_scatter(Tensor like, Tensor to, Tensor x, Tensor? from, Tensor? weights, str spec) -> Tensor",
        planOperator({Operand::kInput, Operand::kInput, Operand::kInput, Operand::kInput, Operand::kInput}));
}

}  // namespace ipex_studio
