// A depthwise convolution of channels-last images of u8 or s8: what depthwise_int8.cpp hands to the code of one
// instruction set.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/int8/int8_gemm.h"

namespace ipex_studio {

// Pixels whose sums stay in registers.
constexpr std::int64_t kInt8DepthwisePixels = 8;
// Channels that go through an image together: a line of the cache.
constexpr std::int64_t kInt8DepthwisePiece = 64;

// Axes: 0 height, 1 width. Four neighbouring taps of a line make a quad per channel; weights are packed as
// [line][quad][channels][4].
struct Int8DepthwiseJob {
  std::int64_t images = 1, channels = 0, quads = 1;
  std::int64_t in[2] = {1, 1}, out[2] = {1, 1}, kernel[2] = {1, 1}, stride[2] = {1, 1}, dilation[2] = {1, 1};
  std::int64_t padding[2] = {};
  std::int64_t image_stride = 0, x_stride[2] = {};  // channels lie side by side
  std::uint32_t zero = 0;                           // byte of places outside, as unsigned
  std::uint32_t flip = 0;                           // s8 becomes u8 by exclusive or
  // Units of work: images × bands of lines × pieces of channels.
  std::int64_t bands = 1, piece = kInt8DepthwisePiece, pieces = 1;
  DType result = DType::kF32;
  Requantization chain;
  SiluPieces silu;                  // where that is the activation
  std::vector<std::int32_t> start;  // one per channel; scale and offset are the chain's
  std::vector<GemmOperand> operands;
  std::vector<DType> operand_types;
  PointwiseApply pointwise = nullptr;

  // Working memory of a thread: for each vector of a piece a ring of as many lines as a window is high, and one line of
  // what lies outside; then the addresses of a window's lines.
  std::int64_t ring_lines = 1, ring_width = 1;
  std::int64_t ringQuads() const { return (ring_lines + 1) * ring_width * kInt8DepthwisePiece; }
  std::int64_t scratchQuads() const { return (ringQuads() + 2 * kernel[0] + 15) / 16 * 16; }
  std::int64_t units() const { return images * bands * pieces; }
};

struct Int8DepthwiseCall {
  const void* x = nullptr;
  const std::int32_t* weights = nullptr;
  const void* const* src = nullptr;
  void* dst = nullptr;
};

using Int8DepthwiseRun = void (*)(const Int8DepthwiseJob& job, const Int8DepthwiseCall& call, std::int32_t* scratch,
                                  std::int64_t begin, std::int64_t end);

}  // namespace ipex_studio
