// Position-sensitive averages of the pixels of bins (Dai et al., R-FCN, arXiv:1605.06409; the conventions of
// torchvision.ops.ps_roi_pool), and the gradient of that: each bin has channels of its own.
#pragma once

#include "kernels/vision/roi_align.h"

namespace ipex_studio {

// x[images][channels][height][width] with channels = results × pooled_height × pooled_width, rois[rois][image, x1, y1,
// x2, y2] with images in range, y[rois][results][pooled_height][pooled_width]: bin b of result c reads channel c × bins
// + b, 0 for an empty bin. As in torchvision no bin reads the last row and column of an image. T: float, double. Of
// `job` sampling_ratio, aligned and isa are not read.
template <typename T>
void psRoiPool(const RoiAlignJob& job, const T* x, const T* rois, T* y);

// grad_x from the gradient of y. The same bits for any number of threads. That of torchvision 0.14 gives some to the
// last row and column, which its own forward does not read.
template <typename T>
void psRoiPoolBackward(const RoiAlignJob& job, const T* grad_y, const T* rois, T* grad_x);

}  // namespace ipex_studio
