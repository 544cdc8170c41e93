// Regions of interest, averaged over a grid of bilinear samples (He et al., Mask R-CNN, arXiv:1703.06870; the
// conventions of torchvision.ops.roi_align), and the gradient of that.
//
// Samples outside of the image by more than one pixel are 0. A sample whose place is NaN counts as outside.
#pragma once

#include <cstdint>
#include <string>

namespace ipex_studio {

struct RoiAlignJob {
  std::int64_t images = 0, channels = 0, height = 0, width = 0;
  std::int64_t rois = 0, pooled_height = 0, pooled_width = 0;
  double spatial_scale = 1;
  std::int64_t sampling_ratio = 0;  // samples of a bin along each axis; 0 and less: as many as it has pixels
  bool aligned = false;             // pixels have their places at their centres
  std::string isa;                  // tier of instruction sets (core/runtime/machine_facts.h)
  std::int32_t threads = 1;
};

// x[images][channels][height][width], rois[rois][image, x1, y1, x2, y2] with images in range and at most kMaxRoiSamples
// samples (roi_grid.h) each, y[rois][channels][pooled_height][pooled_width]. T: float, double. The same bits for any
// number of threads, and those of roiAlignRef().
template <typename T>
void roiAlign(const RoiAlignJob& job, const T* x, const T* rois, T* y);

// grad_x, the gradient of x, from that of y. The same bits for any number of threads, and those of the plain version.
template <typename T>
void roiAlignBackward(const RoiAlignJob& job, const T* grad_y, const T* rois, T* grad_x);

// The plain versions.
template <typename T>
void roiAlignRef(const RoiAlignJob& job, const T* x, const T* rois, T* y);
template <typename T>
void roiAlignBackwardRef(const RoiAlignJob& job, const T* grad_y, const T* rois, T* grad_x);

// Samples of a region of interest beyond which it is refused.
constexpr std::int64_t kMaxRoiSamples = std::int64_t{1} << 26;

}  // namespace ipex_studio
