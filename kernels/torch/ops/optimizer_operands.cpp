#include "kernels/torch/ops/optimizer_operands.h"

#include <stdexcept>

#include <ATen/Parallel.h>
#include <torch/version.h>

namespace ipex_studio {
namespace {

constexpr bool kLerps = TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1);

}  // namespace

at::Tensor DenseTensors::first(const at::Tensor& tensor) {
  return tensor.is_non_overlapping_and_dense() ? tensor : keep(tensor, tensor.contiguous(), true);
}

at::Tensor DenseTensors::inOrderOf(const at::Tensor& first, const at::Tensor& tensor, bool written) {
  if (tensor.strides() == first.strides() || tensor.numel() <= 1) return tensor;
  return keep(tensor, at::empty_strided(tensor.sizes(), first.strides(), tensor.options()).copy_(tensor), written);
}

void DenseTensors::writeBack() {
  for (const Copy& copy : copies_) {
    if (copy.written) at::Tensor(copy.original).copy_(copy.dense);
  }
}

at::Tensor DenseTensors::keep(const at::Tensor& original, const at::Tensor& dense, bool written) {
  copies_.push_back({original, dense, written});
  return dense;
}

Optimizer optimizerNamed(const std::string& name) {
  try {
    return optimizerFromName(name);
  } catch (const std::runtime_error& error) {
    TORCH_CHECK(false, "ipex_studio: ", error.what());
  }
}

UpdateOptions updateOptions(bool fast, double gradient_scale, double max_norm, bool skip_infinite) {
  UpdateOptions options;
  options.fast = fast;
  options.formulas = kLerps ? Formulas::kTorch2 : Formulas::kTorch1;
  options.gradient_scale = gradient_scale;
  options.max_norm = max_norm;
  options.skip_infinite = skip_infinite;
  options.threads = at::get_num_threads();
  return options;
}

void raiseVersion(const at::Tensor& tensor) {
  if (!tensor.is_inference()) tensor.unsafeGetTensorImpl()->bump_version();
}

}  // namespace ipex_studio
