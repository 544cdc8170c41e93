// ipex_studio::dropout: aten::dropout with its gradient, by kernels/training.
//
//   dropout(Tensor x, float p, bool training) -> Tensor
//
// In training FP32 or BF16 on the CPU is dropped by a counter-based generator, whose seed is the next number of
// libtorch's generator of the CPU: which elements those are depends on its seed and their places in memory, not on
// threads. All else goes to aten::dropout, whose random numbers are others. The gradient draws the same numbers again;
// it can be differentiated.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <torch/library.h>
#include <torch/script.h>

#include <mutex>

#include "kernels/torch/layers/plain_floats.h"
#include "kernels/training/dropout.h"

namespace ipex_studio {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

std::uint64_t nextSeed() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  return at::check_generator<at::CPUGeneratorImpl>(generator)->random64();
}

bool isForCounters(const at::Tensor& x, double p, bool training) {
  return training && p > 0 && p <= 1 && isPlainValues(x) && x.numel() > 0;
}

// The values of `tensor` as memory without gaps, in the order of `strides` if those have none.
at::Tensor inOrder(const at::Tensor& tensor, at::IntArrayRef strides) {
  if (tensor.strides() == strides && tensor.is_non_overlapping_and_dense()) return tensor;
  const at::Tensor ordered = at::empty_strided(tensor.sizes(), strides, tensor.options());
  return ordered.is_non_overlapping_and_dense() ? ordered.copy_(tensor) : tensor.contiguous();
}

// `x` has no gaps, and neither has the result, which lies alike.
at::Tensor dropped(const at::Tensor& x, double p, std::uint64_t seed) {
  at::Tensor y = at::empty_strided(x.sizes(), x.strides(), x.options());
  const DropoutJob job{seed, p, x.numel(), at::get_num_threads(), {}};
  isBf16(x) ? dropElements(job, bf16Of(x), bf16Of(y)) : dropElements(job, x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}

class Dropout : public torch::autograd::Function<Dropout> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, double p) {
    at::AutoDispatchBelowADInplaceOrView below;
    const std::uint64_t seed = nextSeed();
    at::Tensor y = dropped(inOrder(x, x.strides()), p, seed);
    context->saved_data["p"] = p;
    context->saved_data["seed"] = static_cast<std::int64_t>(seed);
    context->saved_data["strides"] = y.strides().vec();
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const double p = context->saved_data["p"].toDouble();
    const auto seed = static_cast<std::uint64_t>(context->saved_data["seed"].toInt());
    const std::vector<std::int64_t> strides = context->saved_data["strides"].toIntVector();
    const at::Tensor& dy = gradients[0];
    if (!at::GradMode::is_enabled() && isPlainValues(dy)) return {dropped(inOrder(dy, strides), p, seed), {}};
    const at::Tensor ones = at::empty_strided(dy.sizes(), strides, at::kFloat).fill_(1);
    return {dy * dropped(ones, p, seed), {}};
  }
};

at::Tensor dropout(const at::Tensor& x, double p, bool training) {
  if (!isForCounters(x, p, training)) return at::dropout(x, p, training);
  return dropped(inOrder(x, x.strides()), p, nextSeed());
}

at::Tensor dropoutAutograd(const at::Tensor& x, double p, bool training) {
  return isForCounters(x, p, training) ? Dropout::apply(x, p) : at::dropout(x, p, training);
}

at::Tensor dropoutMeta(const at::Tensor& x, double, bool) { return at::empty_like(x); }

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) { m.def("dropout(Tensor x, float p, bool training) -> Tensor"); }
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) { m.impl("dropout", dropout); }
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) { m.impl("dropout", dropoutMeta); }
TORCH_LIBRARY_IMPL(ipex_studio, Autograd, m) { m.impl("dropout", dropoutAutograd); }

}  // namespace ipex_studio
