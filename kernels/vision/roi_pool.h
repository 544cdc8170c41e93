// The greatest value of each bin of a region of interest (Girshick, Fast R-CNN, arXiv:1504.08083; the conventions of
// torchvision.ops.roi_pool), and the gradient of that.
#pragma once

#include "kernels/vision/roi_align.h"

namespace ipex_studio {

// x[images][channels][height][width], rois[rois][image, x1, y1, x2, y2] with images in range; y[rois][channels]
// [pooled_height][pooled_width] and, as large, the pixels of the values in their channels: -1 for an empty bin and for
// one without a value above -FLT_MAX. T: float, double. Of `job` sampling_ratio, aligned and isa are not read.
template <typename T>
void roiPool(const RoiAlignJob& job, const T* x, const T* rois, T* y, std::int32_t* pixels);

// grad_x from the gradient of y. The same bits for any number of threads.
template <typename T>
void roiPoolBackward(const RoiAlignJob& job, const T* grad_y, const T* rois, const std::int32_t* pixels, T* grad_x);

}  // namespace ipex_studio
