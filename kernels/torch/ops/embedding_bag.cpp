// ipex_studio::embedding_bag: the sum or mean, per bag of ids, of the rows of a table that they name.
#include "kernels/torch/ops/plan_operator.h"

namespace ipex_studio {

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def("embedding_bag(Tensor ids, Tensor offsets, Tensor table, str spec) -> Tensor",
        planOperator({Operand::kInput, Operand::kInput, Operand::kWeight}));
}

}  // namespace ipex_studio
