// A vector of channels at a time: the sums of a line of the window stay in registers while a line of the result goes
// by.
#define HWY_TARGET_INCLUDE "kernels/training/depthwise_weights_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>

#include "kernels/common/partial_vector-inl.h"
#include "kernels/training/depthwise_weights.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// A line of the result and the line of the image that one line of the window meets there, from the channel on.
struct DepthwiseLines {
  const float *x, *dy;
};

// Adds the products of one line to the sums of `taps` places.
template <std::int64_t taps>
HWY_INLINE void addDepthwiseLine(const ConvolutionProblem& p, DepthwiseLines lines, std::int64_t lanes, VF* sums) {
  const F32 d;
  const bool full = lanes == static_cast<std::int64_t>(hn::Lanes(d));
  const auto load = [&](const float* from) HWY_ATTR { return full ? hn::LoadU(d, from) : loadFirst(from, lanes); };
  VF sum[taps];
  for (std::int64_t tap = 0; tap < taps; ++tap) sum[tap] = sums[tap];
  for (std::int64_t out = 0; out < p.out(1); ++out) {
    const VF gradient = load(lines.dy + out * p.channels);
    const std::int64_t begin = out * p.stride[1] - p.padding[1];
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const std::int64_t place = begin + tap * p.dilation[1];
      if (place < 0 || place >= p.size[1]) continue;
      sum[tap] = hn::MulAdd(gradient, load(lines.x + place * p.channels), sum[tap]);
    }
  }
  for (std::int64_t tap = 0; tap < taps; ++tap) sums[tap] = sum[tap];
}

using AddDepthwiseLine = void (*)(const ConvolutionProblem&, DepthwiseLines, std::int64_t, VF*);

HWY_INLINE AddDepthwiseLine depthwiseLineOf(std::int64_t taps) {
  constexpr AddDepthwiseLine kLines[] = {addDepthwiseLine<1>, addDepthwiseLine<2>, addDepthwiseLine<3>,
                                         addDepthwiseLine<4>, addDepthwiseLine<5>, addDepthwiseLine<6>,
                                         addDepthwiseLine<7>};
  return kLines[taps - 1];
}

// The gradient of all places of `lanes` channels from `channel` on.
HWY_INLINE void addDepthwiseChannels(const ConvolutionProblem& p, const float* x, const float* dy, std::int64_t channel,
                                     std::int64_t lanes, float* dw) {
  const F32 d;
  const AddDepthwiseLine add = depthwiseLineOf(p.kernel[1]);
  const std::int64_t image = p.size[0] * p.size[1] * p.channels, result = p.out(0) * p.out(1) * p.channels;
  for (std::int64_t line = 0; line < p.kernel[0]; ++line) {
    VF sums[kDepthwiseTapsInLine];
    for (std::int64_t tap = 0; tap < p.kernel[1]; ++tap) sums[tap] = hn::Zero(d);
    for (std::int64_t n = 0; n < p.images; ++n) {
      for (std::int64_t out = 0; out < p.out(0); ++out) {
        const std::int64_t place = out * p.stride[0] - p.padding[0] + line * p.dilation[0];
        if (place < 0 || place >= p.size[0]) continue;
        add(p,
            {x + n * image + place * p.size[1] * p.channels + channel,
             dy + n * result + out * p.out(1) * p.channels + channel},
            lanes, sums);
      }
    }
    for (std::int64_t tap = 0; tap < p.kernel[1]; ++tap) {
      float values[hn::MaxLanes(d)];
      hn::StoreU(sums[tap], d, values);
      for (std::int64_t i = 0; i < lanes; ++i) dw[(channel + i) * p.taps() + line * p.kernel[1] + tap] = values[i];
    }
  }
}

void runDepthwiseWeights(const ConvolutionProblem& p, const float* x, const float* dy, std::int64_t begin,
                         std::int64_t end, float* dw) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(F32()));
  for (std::int64_t channel = begin; channel < end; channel += lanes) {
    addDepthwiseChannels(p, x, dy, channel, std::min(lanes, end - channel), dw);
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runDepthwiseWeights);

}  // namespace

void depthwiseWeightGradient(const ConvolutionProblem& problem, const float* x, const float* dy, float* dw,
                             const std::string& isa) {
  const auto run = IPEX_SELECT_TARGET(runDepthwiseWeights, isa);
  constexpr std::int64_t kChannels = 16;  // of one task: a multiple of all widths of vectors
  const std::int64_t tasks = (problem.channels + kChannels - 1) / kChannels;
  const std::int64_t grain = grainFor(kChannels * problem.taps() * problem.rows());
  parallelFor(tasks, grain, problem.threads, [&](std::int64_t begin, std::int64_t end, int) {
    run(problem, x, dy, begin * kChannels, std::min(problem.channels, end * kChannels), dw);
  });
}

}  // namespace ipex_studio

#endif  // HWY_ONCE
