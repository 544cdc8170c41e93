// Transposed convolutions of images whose channels lie side by side: a work item sums one pixel of 16 channels over the
// source pixels that reach it. The structure is that of kernels/xpu/deconvolution_xpu.cpp; weights lie as
// [group][y][x][input channel][output channels up to whole vectors].

typedef struct {
  int pixels, height, width;  // of the result; pixels: of all images
  int x_height, x_width, x_image, x_row, x_pixel, x_type;
  int kernel_y, kernel_x, stride_y, stride_x, padding_y, padding_x, dilation_y, dilation_x;
  int depth, x_depth, x_plane, kernel_z, stride_z, padding_z, dilation_z;  // of volumes
  int groups, inputs, outputs, padded;  // channels of a group; padded: outputs up to whole vectors
} Deconvolution;

// The source pixel that reaches place `at` by tap k of the window; -1: none does.
int sourceOf(int at, int k, int padding, int dilation, int stride, int size) {
  const int place = at + padding - k * dilation;
  return place >= 0 && place % stride == 0 && place / stride < size ? place / stride : -1;
}

__attribute__((reqd_work_group_size(4, 16, 1)))
__kernel void deconvolution(__global const float* x, __global const float* weights, const Deconvolution job,
                            CHAIN_ARGUMENTS) {
  const int tiles = job.padded / 16, group = (int)get_global_id(0) / tiles, pixel = (int)get_global_id(1);
  const int channel = 16 * ((int)get_global_id(0) - group * tiles);
  if (group >= job.groups || pixel >= job.pixels) return;
  const int row = pixel / job.width, n = row / job.height, at_x = pixel - row * job.width, at_y = row - n * job.height;
  x += n * job.x_image + group * job.inputs;
  weights += group * job.kernel_y * job.kernel_x * job.inputs * job.padded + channel;
  float16 sum = 0.0f;
  for (int ky = 0; ky < job.kernel_y; ++ky) {
    const int from_y = sourceOf(at_y, ky, job.padding_y, job.dilation_y, job.stride_y, job.x_height);
    for (int kx = 0; kx < job.kernel_x; ++kx, weights += job.inputs * job.padded) {
      const int from_x = sourceOf(at_x, kx, job.padding_x, job.dilation_x, job.stride_x, job.x_width);
      if (from_y < 0 || from_x < 0) continue;
      __global const float* from = x + from_y * job.x_row + from_x * job.x_pixel;
      for (int c = 0; c < job.inputs; ++c) sum += from[c] * vload16(0, weights + c * job.padded);
    }
  }
  __global const void* tensors[MAX_TENSORS] = CHAIN_TENSORS;
  const int position = pixel * job.groups * job.outputs + group * job.outputs + channel;
  finishLanes(&chain, dst, tensors, position, min(16, job.outputs - channel), sum);
}
