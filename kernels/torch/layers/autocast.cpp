#include "kernels/torch/layers/autocast.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <torch/version.h>

namespace ipex_studio {

bool autocastIsOn() {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
  return at::autocast::is_autocast_enabled(at::kCPU);
#else
  return at::autocast::is_cpu_enabled();
#endif
}

bool autocastIsBf16() {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
  return at::autocast::get_autocast_dtype(at::kCPU) == at::kBFloat16;
#else
  return at::autocast::get_autocast_cpu_dtype() == at::kBFloat16;
#endif
}

at::Tensor autocastToBf16(const at::Tensor& values) {
  return at::autocast::cached_cast(at::kBFloat16, values, c10::DeviceType::CPU);
}

}  // namespace ipex_studio
