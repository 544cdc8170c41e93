#include "kernels/torch/optim/optimizer_operands.h"

#include <stdexcept>

#include <ATen/Parallel.h>
#include <torch/version.h>

namespace ipex_studio {
namespace {

constexpr bool kLerps = TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1);

bool isHalf(at::ScalarType dtype) { return dtype == at::kBFloat16 || dtype == at::kHalf; }

std::uint16_t* halvesOf(const at::Tensor& tensor) { return static_cast<std::uint16_t*>(tensor.data_ptr()); }

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

bool isPlainCpu(const at::Tensor& tensor) { return tensor.device().is_cpu() && tensor.layout() == at::kStrided; }

bool canStep(const at::Tensor& parameter, const at::Tensor& gradient, const at::Tensor& companion) {
  const at::ScalarType dtype = parameter.scalar_type(), other = companion.scalar_type();
  const bool whole = companion.numel() == 0 && dtype == at::kFloat,
             split = dtype == at::kBFloat16 && (other == at::kBFloat16 || other == at::kShort),
             master = isHalf(dtype) && other == at::kFloat;
  return isPlainCpu(parameter) && isPlainCpu(gradient) && isPlainCpu(companion) &&
         (gradient.scalar_type() == at::kFloat || isHalf(gradient.scalar_type())) &&
         gradient.sizes() == parameter.sizes() &&
         (whole || ((split || master) && companion.sizes() == parameter.sizes()));
}

void placeParameter(const at::Tensor& first, const at::Tensor& companion, bool rounded, OptimizerTensor* tensor,
                    DenseTensors* dense) {
  tensor->count = first.numel();
  if (first.scalar_type() == at::kFloat) {
    tensor->parameter = first.data_ptr<float>();
    return;
  }
  const at::Tensor other = dense->inOrderOf(first, companion, true);
  tensor->half = halvesOf(first);
  if (companion.scalar_type() == at::kFloat) {
    tensor->parameter = other.data_ptr<float>();
    tensor->form = first.scalar_type() == at::kHalf ? ParameterForm::kF16Copy : ParameterForm::kBf16Copy;
  } else {
    tensor->lower = halvesOf(other);
    tensor->form = rounded ? ParameterForm::kSplitRounded : ParameterForm::kSplit;
  }
}

void placeGradient(const at::Tensor& first, const at::Tensor& gradient, OptimizerTensor* tensor, DenseTensors* dense) {
  const at::ScalarType dtype = gradient.scalar_type();
  tensor->gradient = dense->inOrderOf(first, gradient, false).data_ptr();
  tensor->gradient_dtype = dtype == at::kBFloat16 ? DType::kBf16 : dtype == at::kHalf ? DType::kF16 : DType::kF32;
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
