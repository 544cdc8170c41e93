// A 1x1 convolution and the depthwise convolution that reads it: what pointwise_depthwise_simd.cpp hands to the code of
// one instruction set.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/depthwise/depthwise_job.h"

namespace ipex_studio {

// Channels whose weights lie side by side: [channels / kExpandBlock][depth][kExpandBlock], zeros at the end.
constexpr std::int64_t kExpandBlock = 16;

struct PointwiseDepthwiseJob {
  DepthwiseJob depthwise;  // of the expanded image; image_stride and x_stride are those of the source
  std::int64_t depth = 0;  // channels of the source
  // The activation after the 1x1 convolution, as in GemmJob.
  GemmActivation activation = GemmActivation::kClamp;
  float low = 0, high = 0;
  std::vector<PostOp> tail;
};

struct PointwiseDepthwiseCall {
  DepthwiseCall depthwise;         // x: the source
  const float* weights = nullptr;  // of the 1x1 convolution
  const float* bias = nullptr;     // one per channel
};

using PointwiseDepthwiseRun = void (*)(const PointwiseDepthwiseJob& job, const PointwiseDepthwiseCall& call,
                                       float* scratch, std::int64_t begin, std::int64_t end);

}  // namespace ipex_studio
