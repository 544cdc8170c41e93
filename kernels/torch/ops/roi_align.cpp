// ipex_studio::roi_align: torchvision::roi_align, regions of feature maps averaged to one size, with its gradient.
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include <limits>
#include <utility>

#include "kernels/torch/ops/roi_operator.h"

namespace ipex_studio {
namespace {

using Forward = at::Tensor(const at::Tensor&, const at::Tensor&, double, std::int64_t, std::int64_t, std::int64_t,
                           bool);
using Backward = at::Tensor(const at::Tensor&, const at::Tensor&, double, std::int64_t, std::int64_t, std::int64_t,
                            std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool);

std::pair<double, double> rangeOf(at::ScalarType whole) {
  if (whole == at::kByte) return {0, 255};
  if (whole == at::kChar) return {-128, 127};
  return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
}

at::Tensor roiAlignOnCpu(const at::Tensor& input, const at::Tensor& rois, double scale, std::int64_t height,
                         std::int64_t width, std::int64_t sampling, bool is_aligned) {
  const at::ScalarType dtype = visionDtype("roi_align", input);
  const at::Tensor x = input.to(dtype).contiguous(), dense_rois = rois.to(dtype).contiguous();
  const RoiAlignJob job = roiJob("roi_align", x.sizes(), dense_rois, {scale, height, width, sampling, is_aligned});
  checkRoiSamples("roi_align", job, dense_rois);
  const at::Tensor y = at::empty({job.rois, job.channels, height, width}, x.options());
  AT_DISPATCH_FLOATING_TYPES(dtype, "roi_align", [&] {
    roiAlign(job, x.data_ptr<scalar_t>(), dense_rois.data_ptr<scalar_t>(), y.data_ptr<scalar_t>());
  });
  return y.to(input.scalar_type());
}

// In steps of the input's scale, so that only the result is rounded. Scales of rois can name no images in order, which
// is why there may be one only.
at::Tensor roiAlignOnQuantized(const at::Tensor& input, const at::Tensor& rois, double scale, std::int64_t height,
                               std::int64_t width, std::int64_t sampling, bool is_aligned) {
  TORCH_CHECK(input.scalar_type() == rois.scalar_type(),
              "roi_align: quantized input and rois must have the same dtype.");
  TORCH_CHECK(input.dim() == 4 && input.size(0) == 1,
              "Only one image per batch is allowed in roi_align when quantized tensors are passed.");
  const at::Tensor x = quantizedSteps("roi_align", input), places = quantizedSteps("roi_align", rois) * rois.q_scale();
  if (places.dim() == 2 && places.size(1) == 5) places.select(1, 0).zero_();
  const at::Tensor y = roiAlignOnCpu(x, places, scale, height, width, sampling, is_aligned);
  const at::ScalarType whole = at::toUnderlying(input.scalar_type());
  const auto [least, most] = rangeOf(whole);
  const at::Tensor numbers = y.to(at::kDouble).round_().add_(input.q_zero_point()).clamp_(least, most).to(whole);
  return at::_make_per_tensor_quantized_tensor(numbers, input.q_scale(), input.q_zero_point());
}

at::Tensor roiAlignBackwardOnCpu(const at::Tensor& grad, const at::Tensor& rois, double scale, std::int64_t height,
                                 std::int64_t width, std::int64_t images, std::int64_t channels,
                                 std::int64_t image_height, std::int64_t image_width, std::int64_t sampling,
                                 bool is_aligned) {
  const at::ScalarType dtype = visionDtype("_roi_align_backward", grad);
  const at::Tensor y = grad.to(dtype).contiguous(), dense_rois = rois.to(dtype).contiguous();
  const RoiAlignJob job = roiJob("_roi_align_backward", {images, channels, image_height, image_width}, dense_rois,
                                 {scale, height, width, sampling, is_aligned});
  TORCH_CHECK(y.sizes() == at::IntArrayRef({job.rois, channels, height, width}),
              "_roi_align_backward: the gradient has sizes ", y.sizes(), ".");
  checkRoiSamples("roi_align", job, dense_rois);
  const at::Tensor x = at::empty({images, channels, image_height, image_width}, y.options());
  AT_DISPATCH_FLOATING_TYPES(dtype, "_roi_align_backward", [&] {
    roiAlignBackward(job, y.data_ptr<scalar_t>(), dense_rois.data_ptr<scalar_t>(), x.data_ptr<scalar_t>());
  });
  return x.to(grad.scalar_type());
}

at::Tensor callRoiAlign(const at::Tensor& input, const at::Tensor& rois, double scale, std::int64_t height,
                        std::int64_t width, std::int64_t sampling, bool is_aligned) {
  static const auto op = operatorNamed<Forward>("ipex_studio::roi_align");
  return op.call(input, rois, scale, height, width, sampling, is_aligned);
}

struct RoiAlignOperator {
  static std::pair<at::Tensor, at::Tensor> forward(const at::Tensor& input, const at::Tensor& rois,
                                                   const RoiArguments& of) {
    return {callRoiAlign(input, rois, of.scale, of.height, of.width, of.sampling, of.aligned), {}};
  }
  static at::Tensor backward(const at::Tensor& grad, const at::Tensor& rois, const at::Tensor&, const RoiArguments& of,
                             at::IntArrayRef sizes) {
    static const auto op = operatorNamed<Backward>("ipex_studio::_roi_align_backward");
    return op.call(grad, rois, of.scale, of.height, of.width, sizes[0], sizes[1], sizes[2], sizes[3], of.sampling,
                   of.aligned);
  }
};

at::Tensor roiAlignWithGradient(const at::Tensor& input, const at::Tensor& rois, double scale, std::int64_t height,
                                std::int64_t width, std::int64_t sampling, bool is_aligned) {
  return RoiFunction<RoiAlignOperator>::apply(input, rois, RoiArguments{scale, height, width, sampling, is_aligned})[0];
}

at::Tensor roiAlignUnderAutocast(const at::Tensor& input, const at::Tensor& rois, double scale, std::int64_t height,
                                 std::int64_t width, std::int64_t sampling, bool is_aligned) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
  return callRoiAlign(autocastToFp32(input), autocastToFp32(rois), scale, height, width, sampling, is_aligned)
      .to(input.scalar_type());
}

// Sizes alone.
at::Tensor roiAlignOnMeta(const at::Tensor& input, const at::Tensor& rois, double, std::int64_t height,
                          std::int64_t width, std::int64_t, bool) {
  return at::empty({rois.size(0), input.size(1), height, width}, input.options());
}

at::Tensor roiAlignBackwardOnMeta(const at::Tensor& grad, const at::Tensor&, double, std::int64_t, std::int64_t,
                                  std::int64_t images, std::int64_t channels, std::int64_t height, std::int64_t width,
                                  std::int64_t, bool) {
  return at::empty({images, channels, height, width}, grad.options());
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def(
      "roi_align(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width, "
      "int sampling_ratio, bool aligned) -> Tensor");
  m.def(
      "_roi_align_backward(Tensor grad, Tensor rois, float spatial_scale, int pooled_height, int pooled_width, "
      "int batch_size, int channels, int height, int width, int sampling_ratio, bool aligned) -> Tensor");
}

TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) {
  m.impl("roi_align", roiAlignOnCpu);
  m.impl("_roi_align_backward", roiAlignBackwardOnCpu);
}
TORCH_LIBRARY_IMPL(ipex_studio, QuantizedCPU, m) { m.impl("roi_align", roiAlignOnQuantized); }
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) {
  m.impl("roi_align", roiAlignOnMeta);
  m.impl("_roi_align_backward", roiAlignBackwardOnMeta);
}
TORCH_LIBRARY_IMPL(ipex_studio, Autograd, m) { m.impl("roi_align", roiAlignWithGradient); }
TORCH_LIBRARY_IMPL(ipex_studio, AutocastCPU, m) { m.impl("roi_align", roiAlignUnderAutocast); }

}  // namespace ipex_studio
