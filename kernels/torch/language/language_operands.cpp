// Types and memory of the operands of language models' operators.
#include "kernels/torch/language/language_operands.h"

namespace ipex_studio {

at::ScalarType languageType(const char* op, const at::Tensor& values) {
  TORCH_CHECK(values.is_floating_point() && values.device().is_cpu() && values.layout() == at::kStrided, op,
              ": values are dense floats on the CPU, not ", values.scalar_type());
  return values.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

at::Tensor inType(const Optional& tensor, at::ScalarType type) {
  return tensor.has_value() && tensor->defined() ? tensor->to(type) : at::Tensor();
}

at::Tensor denseValues(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.detach().contiguous() : at::Tensor();
}

}  // namespace ipex_studio
