// aten::rms_norm for libtorch before 2.4, so that files written by PyTorch 2.4 and later load.
//
//   x / sqrt(mean(x²) + eps) · weight over the last axes     (PyTorch 2.4 documentation of torch.nn.RMSNorm)
#include <limits>
#include <vector>

#include <torch/library.h>
#include <torch/script.h>

#include "core/torch/torch_compat.h"

#if IPEX_NEEDS_RMS_NORM_SHIM

namespace ipex_studio {
namespace {

at::Tensor rmsNorm(const at::Tensor& input, at::IntArrayRef normalized_shape, const c10::optional<at::Tensor>& weight,
                   c10::optional<double> eps) {
  const auto axes_count = static_cast<std::int64_t>(normalized_shape.size());
  TORCH_CHECK(
      axes_count >= 1 && axes_count <= input.dim() && input.sizes().slice(input.dim() - axes_count) == normalized_shape,
      "rms_norm: normalized_shape ", normalized_shape, " is not how the sizes ", input.sizes(), " end.");
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = 1; axis <= axes_count; ++axis) axes.push_back(-axis);
  const double least = eps                                  ? *eps
                       : input.scalar_type() == at::kDouble ? std::numeric_limits<double>::epsilon()
                                                            : std::numeric_limits<float>::epsilon();
  const at::Tensor y = input.mul(input.pow(2).mean(axes, /*keepdim=*/true).add(least).rsqrt());
  return weight && weight->defined() ? y.mul(*weight) : y;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(aten, m) {
  m.def("rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor", rmsNorm);
}

}  // namespace ipex_studio

#endif
