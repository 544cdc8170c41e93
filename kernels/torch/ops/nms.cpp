// ipex_studio::nms: torchvision::nms, the places of boxes that stay, by descending score.
#include <torch/library.h>

#include <ATen/Parallel.h>

#include "kernels/torch/ops/vision_operator.h"
#include "kernels/vision/nms.h"

namespace ipex_studio {
namespace {

void checkBoxes(const at::Tensor& boxes, const at::Tensor& scores) {
  TORCH_CHECK(boxes.dim() == 2, "boxes should be a 2d tensor, got ", boxes.dim(), "D");
  TORCH_CHECK(boxes.size(1) == 4, "boxes should have 4 elements in dimension 1, got ", boxes.size(1));
  TORCH_CHECK(scores.dim() == 1, "scores should be a 1d tensor, got ", scores.dim(), "D");
  TORCH_CHECK(boxes.size(0) == scores.size(0),
              "boxes and scores should have same number of elements in dimension 0, got ", boxes.size(0), " and ",
              scores.size(0));
  TORCH_CHECK(boxes.scalar_type() == scores.scalar_type(), "boxes should have the same type as scores");
}

at::Tensor nmsOnCpu(const at::Tensor& boxes, const at::Tensor& scores, double threshold) {
  checkBoxes(boxes, scores);
  const at::ScalarType dtype = visionDtype("nms", boxes);
  const at::Tensor dense_boxes = boxes.to(dtype).contiguous(), dense_scores = scores.to(dtype).contiguous();
  const NmsJob job{boxes.size(0), threshold, isaHere(), at::get_num_threads()};
  const std::vector<std::int64_t> kept = dtype == at::kDouble
                                             ? nms(job, dense_boxes.data_ptr<double>(), dense_scores.data_ptr<double>())
                                             : nms(job, dense_boxes.data_ptr<float>(), dense_scores.data_ptr<float>());
  at::Tensor places = at::empty({static_cast<std::int64_t>(kept.size())}, boxes.options().dtype(at::kLong));
  std::copy(kept.begin(), kept.end(), places.data_ptr<std::int64_t>());
  return places;
}

// Ratios of areas are those of the steps. In FP32 as for other boxes, whose ties these then have.
at::Tensor nmsOnQuantized(const at::Tensor& boxes, const at::Tensor& scores, double threshold) {
  TORCH_CHECK(boxes.scalar_type() == scores.scalar_type(), "boxes should have the same type as scores");
  return nmsOnCpu(quantizedSteps("nms", boxes).to(at::kFloat), quantizedSteps("nms", scores).to(at::kFloat), threshold);
}

at::Tensor nmsUnderAutocast(const at::Tensor& boxes, const at::Tensor& scores, double threshold) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
  static const auto op = operatorNamed<at::Tensor(const at::Tensor&, const at::Tensor&, double)>("ipex_studio::nms");
  return op.call(autocastToFp32(boxes), autocastToFp32(scores), threshold);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) { m.def("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"); }

TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) { m.impl("nms", nmsOnCpu); }
TORCH_LIBRARY_IMPL(ipex_studio, QuantizedCPU, m) { m.impl("nms", nmsOnQuantized); }
TORCH_LIBRARY_IMPL(ipex_studio, AutocastCPU, m) { m.impl("nms", nmsUnderAutocast); }

}  // namespace ipex_studio
