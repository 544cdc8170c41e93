#include "kernels/torch/layers/image_convolution.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "kernels/torch/layers/kept_operations.h"

namespace ipex_studio {

KeptConvolution convolutionFor(const ConvolutionProblem& problem) {
  static auto& kept = *new KeptOperations<ConvolutionProblem, ConvolutionTraining>;
  return kept.of(problem, prepareConvolution);
}

at::Tensor emptyInPixelOrder(const at::Tensor& tensor) {
  const at::MemoryFormat order = pixelOrderOf(tensor);
  if (tensor.is_contiguous(order)) {
    return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options());
  }
  return at::empty(tensor.sizes(), tensor.options().memory_format(order));
}

at::Tensor biasGradient(const at::Tensor& dy) {
  const std::int64_t channels = dy.size(1);
  at::Tensor sums = at::empty({channels}, dy.options().dtype(at::kFloat));
  const auto add = [&](const auto* values) {
    sumRows(values, dy.numel() / channels, channels, at::get_num_threads(), sums.data_ptr<float>());
  };
  isBf16(dy) ? add(bf16Of(dy)) : add(floatsOf(dy));
  return sums;
}

}  // namespace ipex_studio
