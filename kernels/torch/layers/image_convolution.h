// Shared by the convolutions of training: operations that are kept for their sizes, and tensors with channels last.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/torch/layers/autocast.h"
#include "kernels/torch/layers/plain_floats.h"
#include "kernels/training/convolution_training.h"

namespace ipex_studio {

constexpr auto kPixelOrder = at::MemoryFormat::ChannelsLast;

// Channels last for images and their weights, or for volumes and theirs.
inline at::MemoryFormat pixelOrderOf(const at::Tensor& tensor) {
  return tensor.dim() == 5 ? at::MemoryFormat::ChannelsLast3d : kPixelOrder;
}

using KeptConvolution = std::shared_ptr<const ConvolutionTraining>;

// The operation prepared for a problem, null if none can be. Thread-safe.
KeptConvolution convolutionFor(const ConvolutionProblem& problem);

inline bool isPlainOfRank(const at::Tensor& tensor, std::int64_t rank) {
  return tensor.dim() == rank && isPlainFloats(tensor) && tensor.numel() > 0;
}

// True for images, or volumes where the rank is 5, that kernels read: FP32 or BF16.
inline bool isPlainImage(const at::Tensor& tensor, std::int64_t rank = 4) {
  return tensor.dim() == rank && isPlainValues(tensor) && tensor.numel() > 0;
}

// True for a gradient of images that kernels read together with `image`.
inline bool isPlainGradient(const at::Tensor& gradient, const at::Tensor& image) {
  return isPlainImage(gradient, image.dim()) && gradient.scalar_type() == image.scalar_type();
}

// True for no bias, or one that kernels read.
inline bool isPlainBias(const c10::optional<at::Tensor>& bias, std::int64_t outputs) {
  return !bias || !bias->defined() || (isPlainOfRank(*bias, 1) && bias->size(0) == outputs);
}

// True if a list has one number for each of `axes`, or one for all, and none of them makes sizes overflow: files may
// hold any.
inline bool isForAxes(at::IntArrayRef numbers, std::int64_t axes) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  const auto count = static_cast<std::int64_t>(numbers.size());
  return (count == 1 || count == axes) &&
         std::all_of(numbers.begin(), numbers.end(), [](std::int64_t n) { return n >= 0 && n <= kMost; });
}

// Numbers for height and width, the last of all axes; one stands for both.
inline ConvolutionProblem::Pair pairOf(const std::vector<std::int64_t>& numbers) {
  return {numbers[numbers.size() > 1 ? numbers.size() - 2 : 0], numbers.back()};
}

inline const float* floatsOf(const at::Tensor& tensor) { return tensor.defined() ? tensor.data_ptr<float>() : nullptr; }

// Memory with channels last, with the strides of the tensor if that has them: a parameter takes a gradient as it is if
// their strides are equal, which those along axes of one place need not be.
at::Tensor emptyInPixelOrder(const at::Tensor& tensor);

// The gradient of a bias, FP32: the sum over all pixels of `dy`, which has channels last.
at::Tensor biasGradient(const at::Tensor& dy);

}  // namespace ipex_studio
