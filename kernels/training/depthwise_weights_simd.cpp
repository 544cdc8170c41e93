// A vector of channels at a time: the sums of a line of the window stay in registers while a line of the result goes
// by.
#define HWY_TARGET_INCLUDE "kernels/training/depthwise_weights_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>

#include "kernels/training/depthwise_weights.h"
#include "kernels/training/elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// A line of the result and the line of the image that one line of the window meets there, from the channel on.
template <typename T>
struct DepthwiseLines {
  const T *x, *dy;
};

// Adds the products of one line to the sums of `taps` places.
template <std::int64_t taps, typename T>
HWY_INLINE void addDepthwiseLine(const ConvolutionProblem& p, DepthwiseLines<T> lines, std::int64_t lanes, VF* sums) {
  VF sum[taps];
  for (std::int64_t tap = 0; tap < taps; ++tap) sum[tap] = sums[tap];
  for (std::int64_t out = 0; out < p.out(1); ++out) {
    const VF gradient = loadElements(lines.dy + out * p.channels, lanes);
    const std::int64_t begin = out * p.stride[1] - p.padding[1];
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const std::int64_t place = begin + tap * p.dilation[1];
      if (place < 0 || place >= p.size[1]) continue;
      sum[tap] = hn::MulAdd(gradient, loadElements(lines.x + place * p.channels, lanes), sum[tap]);
    }
  }
  for (std::int64_t tap = 0; tap < taps; ++tap) sums[tap] = sum[tap];
}

template <typename T>
using AddDepthwiseLine = void (*)(const ConvolutionProblem&, DepthwiseLines<T>, std::int64_t, VF*);

template <typename T>
HWY_INLINE AddDepthwiseLine<T> depthwiseLineOf(std::int64_t taps) {
  constexpr AddDepthwiseLine<T> kLines[] = {addDepthwiseLine<1, T>, addDepthwiseLine<2, T>, addDepthwiseLine<3, T>,
                                            addDepthwiseLine<4, T>, addDepthwiseLine<5, T>, addDepthwiseLine<6, T>,
                                            addDepthwiseLine<7, T>};
  return kLines[taps - 1];
}

// The gradient of all places of `lanes` channels from `channel` on.
template <typename T>
HWY_INLINE void addDepthwiseChannels(const ConvolutionProblem& p, const T* x, const T* dy, std::int64_t channel,
                                     std::int64_t lanes, float* dw) {
  const F32 d;
  const AddDepthwiseLine<T> add = depthwiseLineOf<T>(p.kernel[1]);
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

template <typename T>
HWY_INLINE void depthwiseWeightsOf(const ConvolutionProblem& p, const T* x, const T* dy, std::int64_t begin,
                                   std::int64_t end, float* dw) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(F32()));
  for (std::int64_t channel = begin; channel < end; channel += lanes) {
    addDepthwiseChannels(p, x, dy, channel, std::min(lanes, end - channel), dw);
  }
}

void runDepthwiseWeights(const ConvolutionProblem& p, const float* x, const float* dy, std::int64_t begin,
                         std::int64_t end, float* dw) {
  depthwiseWeightsOf(p, x, dy, begin, end, dw);
}

void runDepthwiseWeightsBf16(const ConvolutionProblem& p, const Bf16* x, const Bf16* dy, std::int64_t begin,
                             std::int64_t end, float* dw) {
  depthwiseWeightsOf(p, x, dy, begin, end, dw);
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runDepthwiseWeights);
HWY_EXPORT(runDepthwiseWeightsBf16);

template <typename Run, typename T>
void shareChannels(const ConvolutionProblem& problem, const Run& run, const T* x, const T* dy, float* dw) {
  constexpr std::int64_t kChannels = 16;  // of one task: a multiple of all widths of vectors
  const std::int64_t tasks = (problem.channels + kChannels - 1) / kChannels;
  const std::int64_t grain = grainFor(kChannels * problem.taps() * problem.rows());
  parallelFor(tasks, grain, problem.threads, [&](std::int64_t begin, std::int64_t end, int) {
    run(problem, x, dy, begin * kChannels, std::min(problem.channels, end * kChannels), dw);
  });
}

}  // namespace

void depthwiseWeightGradient(const ConvolutionProblem& problem, const float* x, const float* dy, float* dw,
                             const std::string& isa) {
  shareChannels(problem, IPEX_SELECT_TARGET(runDepthwiseWeights, isa), x, dy, dw);
}

void depthwiseWeightGradient(const ConvolutionProblem& problem, const Bf16* x, const Bf16* dy, float* dw,
                             const std::string& isa) {
  shareChannels(problem, IPEX_SELECT_TARGET(runDepthwiseWeightsBf16, isa), x, dy, dw);
}

}  // namespace ipex_studio

#endif  // HWY_ONCE
