// A depthwise convolution of channels-last images: what kernels hand to the code of one instruction set.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/gemm/packed_gemm.h"

namespace ipex_studio {

// Most pixels of a strip: their sums stay in registers.
constexpr std::int64_t kDepthwisePixels = 8;
// Lanes of the widest vector.
constexpr std::int64_t kDepthwiseLanes = 16;

// Axes: 0 height, 1 width. Weights are packed as [tap][channels].
struct DepthwiseJob {
  std::int64_t images = 1, channels = 0;
  std::int64_t in[2] = {1, 1}, out[2] = {1, 1}, kernel[2] = {1, 1}, stride[2] = {1, 1}, dilation[2] = {1, 1};
  std::int64_t padding[2] = {};
  std::int64_t image_stride = 0, x_stride[2] = {};  // channels lie side by side
  // Units of work: images × bands of lines × pieces of channels.
  std::int64_t bands = 1, piece = 1, pieces = 1;
  // Post-operations as in GemmJob.
  int addend = -1;
  GemmActivation activation = GemmActivation::kClamp;
  float low = 0, high = 0;
  const SmoothActivation* smooth = nullptr;
  std::vector<PostOp> tail;
  std::vector<GemmOperand> operands;
  std::vector<DType> operand_types;
  PointwiseApply pointwise = nullptr;
  DType result = DType::kF32;  // or kBf16
  bool native_bf16 = false;    // rounded by the CPU's own instruction

  // Working memory of a thread: a ring of as many lines as a window is high, and the addresses of a window's lines.
  std::int64_t ring_lines = 1, ring_width = 1;
  std::int64_t ringFloats() const { return ring_lines * ring_width * kDepthwiseLanes; }
  std::int64_t scratchFloats() const { return (ringFloats() + 2 * kernel[0] + 15) / 16 * 16; }

  std::int64_t units() const { return images * bands * pieces; }
};

struct DepthwiseCall {
  const void* x = nullptr;
  const float* weights = nullptr;
  const float* bias = nullptr;  // one per channel
  const void* const* src = nullptr;
  void* dst = nullptr;
};

// Moves the chain that follows the sums into `job`: DepthwiseJob or PointwiseDepthwiseJob.
template <class Job>
void takePostOps(GemmJob&& chain, Job* job) {
  job->activation = chain.activation;
  job->low = chain.low;
  job->high = chain.high;
  job->tail = std::move(chain.tail);
}

// --- the innermost part (depthwise_strip.cpp) -----------------------------------------------------------------------

// Neighbouring pixels of one line for one vector of channels. Pixels of copied lines lie a vector apart.
struct DepthwiseStrip {
  const float* const* lines = nullptr;  // of taps
  std::int64_t line_count = 0;
  std::int64_t offset = 0;  // of the first pixel's first tap
  const float* w = nullptr;
  std::int64_t w_line_step = 0, w_tap_step = 0;
  std::int64_t taps = 0, tap_step = 0, pixel_step = 0;
};

// The place of a strip's results.
struct DepthwisePlace {
  std::int64_t image = 0, pixel = 0, channel = 0;
};

// Code that computes `count` strips side by side.
using DepthwiseStripRun = void (*)(const DepthwiseJob& job, const DepthwiseCall& call, DepthwiseStrip strip,
                                   DepthwisePlace place, std::int64_t count);

// Functions indexed by the number of pixels in a strip.
struct DepthwiseStripRuns {
  DepthwiseStripRun run[kDepthwisePixels + 1] = {};
};

// --- planning (depthwise_plan.cpp) ---------------------------------------------------------------------------------

// Sets sizes, strides and the ring of `job` from channels-last images `x`, weights [C, 1, k…] and the windows of
// `spec`.
void describeWindow(const OpSpec& spec, const TensorDesc& x, const Dims& weights, const Dims& dst, DepthwiseJob* job);

struct DepthwiseWeights {
  WeightCache::Packed taps, bias;
};

// Positions of weights and bias among the sources.
struct DepthwiseSources {
  std::size_t weights, bias;
};

// The bias, one value per channel; if absent, zeros that the cache keeps under the key of the weights.
WeightCache::Packed packChannels(const DepthwiseSources& at, const PrepareArgs& args, std::int64_t channels,
                                 std::vector<bool>* packed);

// Weights and bias as DepthwiseJob reads them; marks them as packed.
DepthwiseWeights packDepthwise(const DepthwiseSources& at, const PrepareArgs& args, const DepthwiseJob& job,
                               std::vector<bool>* packed);

using DepthwiseRun = void (*)(const DepthwiseJob& job, const DepthwiseCall& call, float* scratch, std::int64_t begin,
                              std::int64_t end);

}  // namespace ipex_studio
