// Dtypes of detection.
#include "kernels/torch/ops/vision_operator.h"

#include <ATen/autocast_mode.h>

#include "core/runtime/machine_facts.h"

namespace ipex_studio {

const std::string& isaHere() {
  static const std::string isa = machineFacts().isa;
  return isa;
}

at::ScalarType visionDtype(const char* name, const at::Tensor& values) {
  const at::ScalarType dtype = values.scalar_type();
  TORCH_CHECK(at::isFloatingType(dtype), name, " takes floating numbers, not ", dtype, ".");
  return dtype == at::kDouble ? at::kDouble : at::kFloat;
}

at::Tensor quantizedSteps(const char* name, const at::Tensor& quantized) {
  TORCH_CHECK(quantized.qscheme() == at::kPerTensorAffine, name,
              " takes quantized tensors of one scale, not one for each channel.");
  const at::ScalarType dtype = quantized.scalar_type() == at::kQInt32 ? at::kDouble : at::kFloat;
  return quantized.int_repr().to(dtype).sub_(quantized.q_zero_point());
}

at::Tensor autocastToFp32(const at::Tensor& values) {
  return at::autocast::cached_cast(at::kFloat, values, c10::DeviceType::CPU);
}

}  // namespace ipex_studio
