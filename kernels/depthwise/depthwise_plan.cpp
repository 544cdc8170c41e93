// Preparation that kernels with depthwise convolutions share: windows and packed weights (depthwise_job.h).
#include <fmt/format.h>

#include "kernels/common/bf16.h"
#include "kernels/common/convolution_geometry.h"
#include "kernels/depthwise/depthwise_job.h"

namespace ipex_studio {
namespace {

// w[C, 1, k…], of f32 or bf16, as [tap][C].
void packTaps(const DepthwiseJob& job, const TensorDesc& w, const void* data, void* packed) {
  float* to = static_cast<float*>(packed);
  const int last = w.dims.rank - 1;
  for (std::int64_t y = 0; y < job.kernel[0]; ++y) {
    for (std::int64_t x = 0; x < job.kernel[1]; ++x) {
      const std::int64_t tap = x * w.strides[last] + (last > 2 ? y * w.strides[last - 1] : 0);
      for (std::int64_t c = 0; c < job.channels; ++c) *to++ = floatAt(w.dtype, data, c * w.strides[0] + tap);
    }
  }
}

void packDepthwiseBias(std::int64_t channels, const float* data, void* packed) {
  float* const to = static_cast<float*>(packed);
  for (std::int64_t c = 0; c < channels; ++c) to[c] = data != nullptr ? data[c] : 0.0f;
}

}  // namespace

void describeWindow(const OpSpec& spec, const TensorDesc& x, const Dims& weights, const Dims& dst, DepthwiseJob* job) {
  const int spatial = x.dims.rank - 2;
  const ConvolutionGeometry geometry = convolutionGeometry(spec, spatial);
  job->images = x.dims[0];
  job->channels = weights[0];
  job->image_stride = x.strides[0];
  for (int axis = 0; axis < spatial; ++axis) {
    const int to = 2 - spatial + axis;
    job->in[to] = x.dims[2 + axis];
    job->out[to] = dst[2 + axis];
    job->kernel[to] = weights[2 + axis];
    job->stride[to] = geometry.stride[axis];
    job->dilation[to] = geometry.dilation[axis] + 1;
    job->padding[to] = geometry.padding_begin[axis];
    job->x_stride[to] = x.strides[2 + axis];
  }
  job->ring_lines = (job->kernel[0] - 1) * job->dilation[0] + 1;
  job->ring_width = (job->out[1] - 1) * job->stride[1] + (job->kernel[1] - 1) * job->dilation[1] + 1;
}

WeightCache::Packed packChannels(const DepthwiseSources& at, const PrepareArgs& args, std::int64_t channels,
                                 std::vector<bool>* packed) {
  const bool has_bias = !args.src[at.bias].absent();
  const auto* const b = has_bias ? static_cast<const float*>(args.constant[at.bias]) : nullptr;
  (*packed)[at.bias] = has_bias;
  return args.weights->getOrPack(has_bias ? b : args.constant[at.weights], fmt::format("depthwise bias {}", channels),
                                 static_cast<std::size_t>(channels) * sizeof(float),
                                 [&](void* to) { packDepthwiseBias(channels, b, to); });
}

DepthwiseWeights packDepthwise(const DepthwiseSources& at, const PrepareArgs& args, const DepthwiseJob& job,
                               std::vector<bool>* packed) {
  const TensorDesc& w_desc = args.src[at.weights];
  const void* const w = args.constant[at.weights];
  const std::string form = "depthwise taps " + w_desc.dims.str() + " strides " + w_desc.strides.str();
  DepthwiseWeights weights;
  weights.taps = args.weights->getOrPack(
      w, form, static_cast<std::size_t>(job.kernel[0] * job.kernel[1] * job.channels) * sizeof(float),
      [&](void* to) { packTaps(job, w_desc, w, to); });
  (*packed)[at.weights] = true;
  weights.bias = packChannels(at, args, job.channels, packed);
  return weights;
}

}  // namespace ipex_studio
