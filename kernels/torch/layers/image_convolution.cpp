#include "kernels/torch/layers/image_convolution.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <map>
#include <mutex>

namespace ipex_studio {

KeptConvolution convolutionFor(const ConvolutionProblem& problem) {
  constexpr std::size_t kKept = 1024;  // sizes that networks have at once
  static std::mutex mutex;
  static std::map<ConvolutionProblem, KeptConvolution>& kept = *new std::map<ConvolutionProblem, KeptConvolution>;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = kept.find(problem);
  if (found != kept.end()) return found->second;
  if (kept.size() >= kKept) kept.clear();
  return kept[problem] = prepareConvolution(problem);
}

at::Tensor emptyInPixelOrder(const at::Tensor& tensor) {
  if (tensor.is_contiguous(kPixelOrder)) {
    return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options());
  }
  return at::empty(tensor.sizes(), tensor.options().memory_format(kPixelOrder));
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
