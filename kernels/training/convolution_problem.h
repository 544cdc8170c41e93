// ConvolutionProblem: sizes of a convolution of images that training computes in both directions. Images are FP32 or
// BF16 with channels last, [N, H, W, C]; weights are FP32 and lie likewise, [O, H, W, C / groups].
#pragma once

#include <array>
#include <cstdint>
#include <tuple>

namespace ipex_studio {

struct ConvolutionProblem {
  using Pair = std::array<std::int64_t, 2>;  // height, width

  std::int64_t images = 0, channels = 0, outputs = 0, groups = 1;
  Pair size{}, kernel{}, stride{1, 1}, padding{}, dilation{1, 1};  // dilation 1: dense
  std::int32_t threads = 1;
  bool bf16 = false;  // images, results and their gradients are BF16; sums are FP32

  // Sizes of the result; not positive if the image is smaller than the window.
  std::int64_t out(std::size_t axis) const {
    return (size[axis] + 2 * padding[axis] - dilation[axis] * (kernel[axis] - 1) - 1) / stride[axis] + 1;
  }
  std::int64_t taps() const { return kernel[0] * kernel[1]; }
  std::int64_t rows() const { return images * out(0) * out(1); }
  std::int64_t groupChannels() const { return channels / groups; }
  std::int64_t weightCount() const { return outputs * taps() * groupChannels(); }
  bool isDepthwise() const { return groups > 1 && groups == channels && groups == outputs; }

  auto key() const {
    return std::tie(images, channels, outputs, groups, size, kernel, stride, padding, dilation, threads, bf16);
  }
  bool operator<(const ConvolutionProblem& other) const { return key() < other.key(); }
};

}  // namespace ipex_studio
