// ipex_studio::roi_pool: torchvision::roi_pool, the greatest value of each bin of a region, with its gradient.
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include "kernels/torch/ops/roi_operator.h"
#include "kernels/vision/roi_pool.h"

namespace ipex_studio {
namespace {
using RoiPoolResult = std::tuple<at::Tensor, at::Tensor>;
using RoiPoolForward = RoiPoolResult(const at::Tensor&, const at::Tensor&, double, std::int64_t, std::int64_t);
using RoiPoolBackward = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, double, std::int64_t,
                                   std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t);

RoiPoolResult roiPoolOnCpu(const at::Tensor& input, const at::Tensor& rois, double scale, std::int64_t height,
                           std::int64_t width) {
  const at::ScalarType dtype = visionDtype("roi_pool", input);
  const at::Tensor x = input.to(dtype).contiguous(), dense_rois = rois.to(dtype).contiguous();
  const RoiAlignJob job = roiJob("roi_pool", x.sizes(), dense_rois, {scale, height, width});
  const at::Tensor y = at::empty({job.rois, job.channels, height, width}, x.options());
  const at::Tensor pixels = at::empty(y.sizes(), x.options().dtype(at::kInt));
  AT_DISPATCH_FLOATING_TYPES(dtype, "roi_pool", [&] {
    roiPool(job, x.data_ptr<scalar_t>(), dense_rois.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(),
            pixels.data_ptr<std::int32_t>());
  });
  return {y.to(input.scalar_type()), pixels};
}

at::Tensor roiPoolBackwardOnCpu(const at::Tensor& grad, const at::Tensor& rois, const at::Tensor& argmax, double scale,
                                std::int64_t height, std::int64_t width, std::int64_t images, std::int64_t channels,
                                std::int64_t image_height, std::int64_t image_width) {
  const at::ScalarType dtype = visionDtype("_roi_pool_backward", grad);
  const at::Tensor y = grad.to(dtype).contiguous(), dense_rois = rois.to(dtype).contiguous();
  const RoiAlignJob job =
      roiJob("_roi_pool_backward", {images, channels, image_height, image_width}, dense_rois, {scale, height, width});
  TORCH_CHECK(y.sizes() == at::IntArrayRef({job.rois, channels, height, width}) && argmax.sizes() == y.sizes() &&
                  argmax.scalar_type() == at::kInt,
              "_roi_pool_backward: the gradient has sizes ", y.sizes(), ", its places ", argmax.sizes(), ".");
  const at::Tensor pixels = argmax.contiguous();
  TORCH_CHECK(pixels.numel() == 0 || pixels.max().item<std::int64_t>() < image_height * image_width,
              "_roi_pool_backward: a place lies outside of the image.");
  const at::Tensor x = at::empty({images, channels, image_height, image_width}, y.options());
  AT_DISPATCH_FLOATING_TYPES(dtype, "_roi_pool_backward", [&] {
    roiPoolBackward(job, y.data_ptr<scalar_t>(), dense_rois.data_ptr<scalar_t>(), pixels.data_ptr<std::int32_t>(),
                    x.data_ptr<scalar_t>());
  });
  return x.to(grad.scalar_type());
}

RoiPoolResult callRoiPool(const at::Tensor& input, const at::Tensor& rois, double scale, std::int64_t height,
                          std::int64_t width) {
  static const auto op = operatorNamed<RoiPoolForward>("ipex_studio::roi_pool");
  return op.call(input, rois, scale, height, width);
}

struct RoiPoolOperator {
  static std::pair<at::Tensor, at::Tensor> forward(const at::Tensor& input, const at::Tensor& rois,
                                                   const RoiArguments& of) {
    auto [result, second] = callRoiPool(input, rois, of.scale, of.height, of.width);
    return {result, second};
  }
  static at::Tensor backward(const at::Tensor& grad, const at::Tensor& rois, const at::Tensor& second,
                             const RoiArguments& of, at::IntArrayRef sizes) {
    static const auto op = operatorNamed<RoiPoolBackward>("ipex_studio::_roi_pool_backward");
    return op.call(grad, rois, second, of.scale, of.height, of.width, sizes[0], sizes[1], sizes[2], sizes[3]);
  }
};

RoiPoolResult roiPoolWithGradient(const at::Tensor& input, const at::Tensor& rois, double scale, std::int64_t height,
                                  std::int64_t width) {
  const auto results = RoiFunction<RoiPoolOperator>::apply(input, rois, RoiArguments{scale, height, width});
  return {results[0], results[1]};
}

RoiPoolResult roiPoolUnderAutocast(const at::Tensor& input, const at::Tensor& rois, double scale, std::int64_t height,
                                   std::int64_t width) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
  auto [result, second] = callRoiPool(autocastToFp32(input), autocastToFp32(rois), scale, height, width);
  return {result.to(input.scalar_type()), second};
}

// Sizes alone.
RoiPoolResult roiPoolOnMeta(const at::Tensor& input, const at::Tensor& rois, double, std::int64_t height,
                            std::int64_t width) {
  const std::int64_t channels = input.size(1);
  return {at::empty({rois.size(0), channels, height, width}, input.options()),
          at::empty({rois.size(0), channels, height, width}, input.options().dtype(at::kInt))};
}

at::Tensor roiPoolBackwardOnMeta(const at::Tensor& grad, const at::Tensor&, const at::Tensor&, double, std::int64_t,
                                 std::int64_t, std::int64_t images, std::int64_t channels, std::int64_t height,
                                 std::int64_t width) {
  return at::empty({images, channels, height, width}, grad.options());
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def(
      "roi_pool(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width) -> (Tensor, "
      "Tensor)");
  m.def(
      "_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, float spatial_scale, int pooled_height, int "
      "pooled_width, int batch_size, int channels, int height, int width) -> Tensor");
}

TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) {
  m.impl("roi_pool", roiPoolOnCpu);
  m.impl("_roi_pool_backward", roiPoolBackwardOnCpu);
}
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) {
  m.impl("roi_pool", roiPoolOnMeta);
  m.impl("_roi_pool_backward", roiPoolBackwardOnMeta);
}
TORCH_LIBRARY_IMPL(ipex_studio, Autograd, m) { m.impl("roi_pool", roiPoolWithGradient); }
TORCH_LIBRARY_IMPL(ipex_studio, AutocastCPU, m) { m.impl("roi_pool", roiPoolUnderAutocast); }

}  // namespace ipex_studio
