// ConvolutionProblem: sizes of a convolution of images or volumes that training computes in both directions. They are
// FP32 or BF16 with channels last, [N, H, W, C] or [N, D, H, W, C]; weights are FP32 and lie likewise,
// [O, H, W, C / groups] or [O, D, H, W, C / groups].
#pragma once

#include <array>
#include <cstdint>
#include <tuple>

namespace ipex_studio {

struct ConvolutionProblem {
  using Pair = std::array<std::int64_t, 2>;  // height, width

  // The axis before height and width, which volumes have.
  struct Depth {
    std::int64_t size = 1, kernel = 1, stride = 1, padding = 0, dilation = 1;

    std::int64_t out() const { return (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1; }
    auto key() const { return std::tie(size, kernel, stride, padding, dilation); }
    bool operator<(const Depth& other) const { return key() < other.key(); }
  };

  std::int64_t images = 0, channels = 0, outputs = 0, groups = 1;
  Pair size{}, kernel{}, stride{1, 1}, padding{}, dilation{1, 1};  // dilation 1: dense
  bool volume = false;
  Depth depth;  // one place, where there are no volumes
  std::int32_t threads = 1;
  bool bf16 = false;  // images, results and their gradients are BF16; sums are FP32

  // Sizes of the result; not positive if the image is smaller than the window.
  std::int64_t out(std::size_t axis) const {
    return (size[axis] + 2 * padding[axis] - dilation[axis] * (kernel[axis] - 1) - 1) / stride[axis] + 1;
  }
  std::int64_t taps() const { return depth.kernel * kernel[0] * kernel[1]; }
  std::int64_t pixels() const { return depth.size * size[0] * size[1]; }  // of an image or volume
  std::int64_t rows() const { return images * depth.out() * out(0) * out(1); }
  std::int64_t groupChannels() const { return channels / groups; }
  std::int64_t weightCount() const { return outputs * taps() * groupChannels(); }
  bool isDepthwise() const { return groups > 1 && groups == channels && groups == outputs; }

  auto key() const {
    return std::tie(images, channels, outputs, groups, size, kernel, stride, padding, dilation, volume, depth, threads,
                    bf16);
  }
  bool operator<(const ConvolutionProblem& other) const { return key() < other.key(); }
};

}  // namespace ipex_studio
