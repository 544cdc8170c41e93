// ipex_studio::embedding: the rows of a table that the ids name.
#include "kernels/torch/ops/plan_operator.h"

namespace ipex_studio {

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def("embedding(Tensor ids, Tensor table, str spec) -> Tensor", planOperator({Operand::kInput, Operand::kWeight}));
}

}  // namespace ipex_studio
