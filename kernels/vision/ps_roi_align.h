// Position-sensitive regions of interest by bilinear samples (the conventions of torchvision.ops.ps_roi_align), and the
// gradient of that: each bin has channels of its own.
#pragma once

#include "kernels/vision/roi_align.h"

namespace ipex_studio {

// x[images][channels][height][width] with channels = results × pooled_height × pooled_width, rois[rois][image, x1, y1,
// x2, y2] with images in range and at most kMaxRoiSamples samples (roi_grid.h) each, y[rois][results][pooled_height]
// [pooled_width]: bin b of result c reads channel c × bins + b. NaN for a region without samples. T: float, double.
// `aligned` of the job must be true; isa is not read.
template <typename T>
void psRoiAlign(const RoiAlignJob& job, const T* x, const T* rois, T* y);

// grad_x from the gradient of y. The same bits for any number of threads.
template <typename T>
void psRoiAlignBackward(const RoiAlignJob& job, const T* grad_y, const T* rois, T* grad_x);

}  // namespace ipex_studio
