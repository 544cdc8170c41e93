// ipex_studio::ps_roi_pool: torchvision::ps_roi_pool, averages of bins that have channels of their own, by pixels, with
// its gradient.
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include "kernels/torch/ops/roi_operator.h"
#include "kernels/vision/ps_roi_pool.h"

namespace ipex_studio {
namespace {
using PsRoiPoolResult = std::tuple<at::Tensor, at::Tensor>;
using PsRoiPoolForward = PsRoiPoolResult(const at::Tensor&, const at::Tensor&, double, std::int64_t, std::int64_t);
using PsRoiPoolBackward = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, double, std::int64_t,
                                     std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t);

PsRoiPoolResult psRoiPoolOnCpu(const at::Tensor& input, const at::Tensor& rois, double scale, std::int64_t height,
                               std::int64_t width) {
  const at::ScalarType dtype = visionDtype("ps_roi_pool", input);
  const at::Tensor x = input.to(dtype).contiguous(), dense_rois = rois.to(dtype).contiguous();
  const RoiAlignJob job = roiJob("ps_roi_pool", x.sizes(), dense_rois, {scale, height, width});
  const std::int64_t results = positionSensitiveChannels("ps_roi_pool", job);
  const at::Tensor y = at::empty({job.rois, results, height, width}, x.options());
  AT_DISPATCH_FLOATING_TYPES(dtype, "ps_roi_pool", [&] {
    psRoiPool(job, x.data_ptr<scalar_t>(), dense_rois.data_ptr<scalar_t>(), y.data_ptr<scalar_t>());
  });
  return {y.to(input.scalar_type()), channelMapping(job, y.sizes())};
}

at::Tensor psRoiPoolBackwardOnCpu(const at::Tensor& grad, const at::Tensor& rois, const at::Tensor&, double scale,
                                  std::int64_t height, std::int64_t width, std::int64_t images, std::int64_t channels,
                                  std::int64_t image_height, std::int64_t image_width) {
  const at::ScalarType dtype = visionDtype("_ps_roi_pool_backward", grad);
  const at::Tensor y = grad.to(dtype).contiguous(), dense_rois = rois.to(dtype).contiguous();
  const RoiAlignJob job = roiJob("_ps_roi_pool_backward", {images, channels, image_height, image_width}, dense_rois,
                                 {scale, height, width});
  TORCH_CHECK(y.sizes() == at::IntArrayRef({job.rois, positionSensitiveChannels("ps_roi_pool", job), height, width}),
              "_ps_roi_pool_backward: the gradient has sizes ", y.sizes(), ".");
  const at::Tensor x = at::empty({images, channels, image_height, image_width}, y.options());
  AT_DISPATCH_FLOATING_TYPES(dtype, "_ps_roi_pool_backward", [&] {
    psRoiPoolBackward(job, y.data_ptr<scalar_t>(), dense_rois.data_ptr<scalar_t>(), x.data_ptr<scalar_t>());
  });
  return x.to(grad.scalar_type());
}

PsRoiPoolResult callPsRoiPool(const at::Tensor& input, const at::Tensor& rois, double scale, std::int64_t height,
                              std::int64_t width) {
  static const auto op = operatorNamed<PsRoiPoolForward>("ipex_studio::ps_roi_pool");
  return op.call(input, rois, scale, height, width);
}

struct PsRoiPoolOperator {
  static std::pair<at::Tensor, at::Tensor> forward(const at::Tensor& input, const at::Tensor& rois,
                                                   const RoiArguments& of) {
    auto [result, second] = callPsRoiPool(input, rois, of.scale, of.height, of.width);
    return {result, second};
  }
  static at::Tensor backward(const at::Tensor& grad, const at::Tensor& rois, const at::Tensor& second,
                             const RoiArguments& of, at::IntArrayRef sizes) {
    static const auto op = operatorNamed<PsRoiPoolBackward>("ipex_studio::_ps_roi_pool_backward");
    return op.call(grad, rois, second, of.scale, of.height, of.width, sizes[0], sizes[1], sizes[2], sizes[3]);
  }
};

PsRoiPoolResult psRoiPoolWithGradient(const at::Tensor& input, const at::Tensor& rois, double scale,
                                      std::int64_t height, std::int64_t width) {
  const auto results = RoiFunction<PsRoiPoolOperator>::apply(input, rois, RoiArguments{scale, height, width});
  return {results[0], results[1]};
}

PsRoiPoolResult psRoiPoolUnderAutocast(const at::Tensor& input, const at::Tensor& rois, double scale,
                                       std::int64_t height, std::int64_t width) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
  auto [result, second] = callPsRoiPool(autocastToFp32(input), autocastToFp32(rois), scale, height, width);
  return {result.to(input.scalar_type()), second};
}

// Sizes alone.
PsRoiPoolResult psRoiPoolOnMeta(const at::Tensor& input, const at::Tensor& rois, double, std::int64_t height,
                                std::int64_t width) {
  const std::int64_t channels = input.size(1) / (height * width);
  return {at::empty({rois.size(0), channels, height, width}, input.options()),
          at::empty({rois.size(0), channels, height, width}, input.options().dtype(at::kInt))};
}

at::Tensor psRoiPoolBackwardOnMeta(const at::Tensor& grad, const at::Tensor&, const at::Tensor&, double, std::int64_t,
                                   std::int64_t, std::int64_t images, std::int64_t channels, std::int64_t height,
                                   std::int64_t width) {
  return at::empty({images, channels, height, width}, grad.options());
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def(
      "ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width) -> (Tensor, "
      "Tensor)");
  m.def(
      "_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale, int pooled_height, "
      "int pooled_width, int batch_size, int channels, int height, int width) -> Tensor");
}

TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) {
  m.impl("ps_roi_pool", psRoiPoolOnCpu);
  m.impl("_ps_roi_pool_backward", psRoiPoolBackwardOnCpu);
}
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) {
  m.impl("ps_roi_pool", psRoiPoolOnMeta);
  m.impl("_ps_roi_pool_backward", psRoiPoolBackwardOnMeta);
}
TORCH_LIBRARY_IMPL(ipex_studio, Autograd, m) { m.impl("ps_roi_pool", psRoiPoolWithGradient); }
TORCH_LIBRARY_IMPL(ipex_studio, AutocastCPU, m) { m.impl("ps_roi_pool", psRoiPoolUnderAutocast); }

}  // namespace ipex_studio
