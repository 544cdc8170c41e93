// A convolution by Winograd's minimal filtering: how it is cut, and its weights.
#pragma once

#include <cstdint>
#include <vector>

#include "core/op/kernel.h"
#include "kernels/gemm/packed_gemm.h"

namespace ipex_studio {

// The image is cut into tiles of `tile` × `tile` results, 2 or 4, whose windows become points() values of each channel.
// With dilation the results of a tile lie as far apart as the taps: every step_y-th line and step_x-th column, from
// each of the first ones on, is a grid of its own.
// The values of a block of tiles with all channels are multiplied point by point with those of the weights, panel by
// panel of columns.
struct WinogradJob {
  std::int64_t tile = 2;
  std::int64_t images = 0, channels = 0, columns = 0;
  std::int64_t height = 0, width = 0, out_height = 0, out_width = 0, pad_top = 0, pad_left = 0;
  std::int64_t step_y = 1, step_x = 1;                               // from one tap to the next
  std::int64_t image_stride = 0, line_stride = 0, pixel_stride = 0;  // of the source
  std::int64_t tile_lines = 0, line_tiles = 0;                       // of an image, all grids side by side
  std::int64_t block_tiles = 0;
  std::int64_t channel_room = 0;  // channels of a row of values, in whole vectors
  std::int32_t panel_width = 0;
  std::vector<PostOp> post_ops;
  std::vector<GemmOperand> operands;  // by post operand
  std::vector<DType> operand_types;
  DType source = DType::kF32, result = DType::kF32;  // each kF32 or kBf16
  PointwiseApply pointwise = nullptr;

  std::int64_t window() const { return tile + 2; }
  std::int64_t points() const { return window() * window(); }
  std::int64_t tiles() const { return images * tile_lines * line_tiles; }
  std::int64_t blocks() const { return (tiles() + block_tiles - 1) / block_tiles; }
  std::int64_t panels() const { return (columns + panel_width - 1) / panel_width; }
  std::int64_t panelFloats() const { return points() * channels * panel_width; }
  // From one point to the next, in floats: an odd number of lines, so that the points of a tile meet in no set of the
  // first-level cache.
  std::int64_t valueStride() const { return oddLines(block_tiles * channel_room); }
  std::int64_t productStride() const { return oddLines(block_tiles * panel_width); }
  // Floats of working memory per thread: values of the image, products of a panel, a tile's results and an operand.
  std::int64_t valueFloats() const { return points() * valueStride(); }
  std::int64_t productFloats() const { return points() * productStride(); }
  std::int64_t resultFloats() const { return tile * tile * panel_width; }
  std::int64_t scratchFloats() const { return valueFloats() + productFloats() + 2 * resultFloats() + channel_room; }

 private:
  static std::int64_t oddLines(std::int64_t floats) {
    constexpr std::int64_t kLineFloats = 16;
    return ((floats + kLineFloats - 1) / kLineFloats | 1) * kLineFloats;
  }
};

// The points of tiles of 4 × 4 besides 0 and infinity: ±kWinogradNear and ±kWinogradFar. Products of sums at the usual
// ±1 and ±2 have five times the error, which at these is that of sums of products.
constexpr double kWinogradNear = 3.0 / 4, kWinogradFar = 4.0 / 3;

using WinogradRun = void (*)(const WinogradJob& job, const GemmCall& call, std::int64_t block, float* scratch);

// w: plain [O, C, 3, 3] of f32 or bf16 with any strides. Computed in double precision.
void packWinogradWeights(const WinogradJob& job, const TensorDesc& w, const void* data, float* packed);

}  // namespace ipex_studio
