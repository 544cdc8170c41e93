// Columns of a deformable convolution (Zhu et al., Deformable ConvNets v2, arXiv:1811.11168; the conventions of
// torchvision.ops.deform_conv2d): each weight reads its pixel at a place of its own, by bilinear interpolation. A
// product with the weights makes the convolution of them, and products with their gradient the gradients.
#pragma once

#include <cstdint>

namespace ipex_studio {

// For one image, x[channels][height][width], offset[offset_groups][taps][2: down, right][places] and
// mask[offset_groups][taps][places], with taps = kernel_height × kernel_width and places = out_height × out_width.
struct DeformJob {
  std::int64_t channels = 0, height = 0, width = 0;
  std::int64_t kernel_height = 1, kernel_width = 1, out_height = 0, out_width = 0;
  std::int64_t stride_height = 1, stride_width = 1, pad_height = 0, pad_width = 0;
  std::int64_t dilation_height = 1, dilation_width = 1;
  std::int64_t offset_groups = 1;  // channels that share places; divides the channels
  std::int32_t threads = 1;
};

// columns[channels][taps][places]. `mask` may be null: ones. T: float, double.
template <typename T>
void deformColumns(const DeformJob& job, const T* x, const T* offset, const T* mask, T* columns);

// The gradients of x, offset and mask from that of the columns; x and mask as above, grad_mask null where mask is. The
// same bits for any number of threads.
template <typename T>
void deformColumnsBackward(const DeformJob& job, const T* grad_columns, const T* x, const T* offset, const T* mask,
                           T* grad_x, T* grad_offset, T* grad_mask);

}  // namespace ipex_studio
