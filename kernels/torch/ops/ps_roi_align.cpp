// ipex_studio::ps_roi_align: torchvision::ps_roi_align, averages of bins that have channels of their own, by samples,
// with its gradient.
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include "kernels/torch/ops/roi_operator.h"
#include "kernels/vision/ps_roi_align.h"

namespace ipex_studio {
namespace {
using PsRoiAlignResult = std::tuple<at::Tensor, at::Tensor>;
using PsRoiAlignForward = PsRoiAlignResult(const at::Tensor&, const at::Tensor&, double, std::int64_t, std::int64_t,
                                           std::int64_t);
using PsRoiAlignBackward = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, double, std::int64_t,
                                      std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                                      std::int64_t);

PsRoiAlignResult psRoiAlignOnCpu(const at::Tensor& input, const at::Tensor& rois, double scale, std::int64_t height,
                                 std::int64_t width, std::int64_t sampling) {
  const at::ScalarType dtype = visionDtype("ps_roi_align", input);
  const at::Tensor x = input.to(dtype).contiguous(), dense_rois = rois.to(dtype).contiguous();
  const RoiAlignJob job = roiJob("ps_roi_align", x.sizes(), dense_rois, {scale, height, width, sampling, true});
  checkRoiSamples("ps_roi_align", job, dense_rois);
  const std::int64_t results = positionSensitiveChannels("ps_roi_align", job);
  const at::Tensor y = at::empty({job.rois, results, height, width}, x.options());
  AT_DISPATCH_FLOATING_TYPES(dtype, "ps_roi_align", [&] {
    psRoiAlign(job, x.data_ptr<scalar_t>(), dense_rois.data_ptr<scalar_t>(), y.data_ptr<scalar_t>());
  });
  return {y.to(input.scalar_type()), channelMapping(job, y.sizes())};
}

at::Tensor psRoiAlignBackwardOnCpu(const at::Tensor& grad, const at::Tensor& rois, const at::Tensor&, double scale,
                                   std::int64_t height, std::int64_t width, std::int64_t sampling, std::int64_t images,
                                   std::int64_t channels, std::int64_t image_height, std::int64_t image_width) {
  const at::ScalarType dtype = visionDtype("_ps_roi_align_backward", grad);
  const at::Tensor y = grad.to(dtype).contiguous(), dense_rois = rois.to(dtype).contiguous();
  const RoiAlignJob job = roiJob("_ps_roi_align_backward", {images, channels, image_height, image_width}, dense_rois,
                                 {scale, height, width, sampling, true});
  TORCH_CHECK(y.sizes() == at::IntArrayRef({job.rois, positionSensitiveChannels("ps_roi_align", job), height, width}),
              "_ps_roi_align_backward: the gradient has sizes ", y.sizes(), ".");
  const at::Tensor x = at::empty({images, channels, image_height, image_width}, y.options());
  checkRoiSamples("ps_roi_align", job, dense_rois);
  AT_DISPATCH_FLOATING_TYPES(dtype, "_ps_roi_align_backward", [&] {
    psRoiAlignBackward(job, y.data_ptr<scalar_t>(), dense_rois.data_ptr<scalar_t>(), x.data_ptr<scalar_t>());
  });
  return x.to(grad.scalar_type());
}

PsRoiAlignResult callPsRoiAlign(const at::Tensor& input, const at::Tensor& rois, double scale, std::int64_t height,
                                std::int64_t width, std::int64_t sampling) {
  static const auto op = operatorNamed<PsRoiAlignForward>("ipex_studio::ps_roi_align");
  return op.call(input, rois, scale, height, width, sampling);
}

struct PsRoiAlignOperator {
  static std::pair<at::Tensor, at::Tensor> forward(const at::Tensor& input, const at::Tensor& rois,
                                                   const RoiArguments& of) {
    auto [result, second] = callPsRoiAlign(input, rois, of.scale, of.height, of.width, of.sampling);
    return {result, second};
  }
  static at::Tensor backward(const at::Tensor& grad, const at::Tensor& rois, const at::Tensor& second,
                             const RoiArguments& of, at::IntArrayRef sizes) {
    static const auto op = operatorNamed<PsRoiAlignBackward>("ipex_studio::_ps_roi_align_backward");
    return op.call(grad, rois, second, of.scale, of.height, of.width, of.sampling, sizes[0], sizes[1], sizes[2],
                   sizes[3]);
  }
};

PsRoiAlignResult psRoiAlignWithGradient(const at::Tensor& input, const at::Tensor& rois, double scale,
                                        std::int64_t height, std::int64_t width, std::int64_t sampling) {
  const auto results =
      RoiFunction<PsRoiAlignOperator>::apply(input, rois, RoiArguments{scale, height, width, sampling, true});
  return {results[0], results[1]};
}

PsRoiAlignResult psRoiAlignUnderAutocast(const at::Tensor& input, const at::Tensor& rois, double scale,
                                         std::int64_t height, std::int64_t width, std::int64_t sampling) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
  auto [result, second] = callPsRoiAlign(autocastToFp32(input), autocastToFp32(rois), scale, height, width, sampling);
  return {result.to(input.scalar_type()), second};
}

// Sizes alone.
PsRoiAlignResult psRoiAlignOnMeta(const at::Tensor& input, const at::Tensor& rois, double, std::int64_t height,
                                  std::int64_t width, std::int64_t) {
  const std::int64_t channels = input.size(1) / (height * width);
  return {at::empty({rois.size(0), channels, height, width}, input.options()),
          at::empty({rois.size(0), channels, height, width}, input.options().dtype(at::kInt))};
}

at::Tensor psRoiAlignBackwardOnMeta(const at::Tensor& grad, const at::Tensor&, const at::Tensor&, double, std::int64_t,
                                    std::int64_t, std::int64_t, std::int64_t images, std::int64_t channels,
                                    std::int64_t height, std::int64_t width) {
  return at::empty({images, channels, height, width}, grad.options());
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def(
      "ps_roi_align(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width, int "
      "sampling_ratio) -> (Tensor, Tensor)");
  m.def(
      "_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale, int "
      "pooled_height, int pooled_width, int sampling_ratio, int batch_size, int channels, int height, int width) -> "
      "Tensor");
}

TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) {
  m.impl("ps_roi_align", psRoiAlignOnCpu);
  m.impl("_ps_roi_align_backward", psRoiAlignBackwardOnCpu);
}
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) {
  m.impl("ps_roi_align", psRoiAlignOnMeta);
  m.impl("_ps_roi_align_backward", psRoiAlignBackwardOnMeta);
}
TORCH_LIBRARY_IMPL(ipex_studio, Autograd, m) { m.impl("ps_roi_align", psRoiAlignWithGradient); }
TORCH_LIBRARY_IMPL(ipex_studio, AutocastCPU, m) { m.impl("ps_roi_align", psRoiAlignUnderAutocast); }

}  // namespace ipex_studio
