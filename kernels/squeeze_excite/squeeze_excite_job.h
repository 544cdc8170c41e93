// A squeeze-and-excitation block: what squeeze_excite_simd.cpp hands to the code of one instruction set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/op/op_spec.h"
#include "core/op/tensor_view.h"
#include "kernels/common/pointwise_ops.h"

namespace ipex_studio {

// Columns of a panel of packed weights. Shares of channels begin at multiples of this number.
constexpr std::int64_t kExciteWidth = 16;
// Images whose products are computed together, so that weights are read once for all of them.
constexpr std::int64_t kExciteImages = 4;
// Floats that post-operations go over at once.
constexpr std::int64_t kExciteTile = 2048;

struct SqueezeExciteJob {
  DType type = DType::kF32;  // of x, y and post operands: f32 or bf16; all else is f32
  std::int64_t images = 0, channels = 0, hidden = 0, pixels = 0;
  // Strides of x and y: channel c of pixel p lies at c / side · side_stride + c % side + p · pixel_stride.
  std::int64_t image_stride = 0, side = 0, side_stride = 0, pixel_stride = 0;
  // Units of work: groups of neighbouring images × shares of the channels, or of the pixels.
  std::int64_t group = 1, groups = 1, shares = 1;
  bool by_pixels = false;
  bool scales_pixels = false;  // products by shares of channels, but the image is scaled by shares of pixels
  PostOp activation, gate;
  std::vector<PostOp> post_ops;  // on the result; post operand k is source kExcitePost + k and lies as y does
  PointwiseApply pointwise = nullptr;

  static std::int64_t whole(std::int64_t count) { return (count + kExciteWidth - 1) / kExciteWidth * kExciteWidth; }
  std::int64_t channelRow() const { return whole(channels); }
  std::int64_t hiddenRow() const { return whole(hidden); }

  // Working memory in floats: averages, which become gates, apart for each share of pixels; each share's part of the
  // hidden values; sums of these parts, a copy for each share; two tiles for each thread: values, and a post operand.
  std::int64_t meanStride() const { return by_pixels ? shares * channelRow() : channelRow(); }
  std::int64_t meanOffset(std::int64_t image, std::int64_t share) const {
    return image * meanStride() + (by_pixels ? share * channelRow() : 0);
  }
  std::int64_t partOffset() const { return images * meanStride(); }
  std::int64_t hiddenOffset() const { return partOffset() + images * shares * hiddenRow(); }
  std::int64_t tileOffset() const { return hiddenOffset() + images * shares * hiddenRow(); }
  std::int64_t scratchFloats(std::int64_t threads) const {
    return tileOffset() + (post_ops.empty() ? 0 : threads * 2 * kExciteTile);
  }
};

// Sources of the operation.
constexpr int kExciteSrc = 0, kExciteReduce = 1, kExciteReduceBias = 2, kExciteExpand = 3, kExciteExpandBias = 4,
              kExcitePost = 5;

// Weights in panels of kExciteWidth columns, [depth][width] each; biases fill whole panels. Zeros in columns that do
// not exist.
struct SqueezeExciteCall {
  const void* x = nullptr;
  void* y = nullptr;
  const float *reduce = nullptr, *reduce_bias = nullptr;  // channels → hidden
  const float *expand = nullptr, *expand_bias = nullptr;  // hidden → channels
  const void* const* src = nullptr;                       // all sources
  float* scratch = nullptr;
};

// Runs one step of a unit: `unit` is group · shares + share; `tile` is the working memory of the thread.
using SqueezeExciteRun = void (*)(const SqueezeExciteJob& job, const SqueezeExciteCall& call, std::int64_t unit,
                                  float* tile);

// The three steps of one unit: squeeze computes its averages and their part of the hidden values; excite, once all
// shares of the group are squeezed, its gates, and its results unless pixels are shared; scale, once all shares have
// their gates, the results of shared pixels.
struct SqueezeExciteRuns {
  SqueezeExciteRun squeeze = nullptr, excite = nullptr, scale = nullptr;
};
SqueezeExciteRuns squeezeExciteFor(const std::string& isa, DType type);

}  // namespace ipex_studio
