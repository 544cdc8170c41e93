// ipex_studio::batch_norm2d: aten::batch_norm of images in training with its gradients, by kernels/training.
//
//   batch_norm2d(Tensor x, Tensor? weight, Tensor? bias, Tensor(a!)? running_mean, Tensor(b!)? running_var,
//                bool training, float momentum, float eps) -> Tensor
//
// In training FP32 on the CPU with channels last is computed by kernels, and its result has channels last; all else
// goes to aten::batch_norm. Running statistics move by `momentum` towards those of the batch, the variance with
// Bessel's correction. Results of kernels have the same bits for any number of threads. Second derivatives are those of
// PyTorch.
#include <ATen/Parallel.h>
#include <torch/library.h>
#include <torch/script.h>

#include <algorithm>

#include "kernels/torch/layers/plain_floats.h"
#include "kernels/training/batch_norm.h"

namespace ipex_studio {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Optional = c10::optional<at::Tensor>;

constexpr auto kPixelsOfChannels = at::MemoryFormat::ChannelsLast;

at::Tensor orUndefined(const Optional& tensor) { return tensor ? *tensor : at::Tensor(); }

const float* numbersOf(const at::Tensor& tensor) { return tensor.defined() ? tensor.data_ptr<float>() : nullptr; }

BatchNormJob jobOf(const at::Tensor& x, double eps) {
  return {x.numel() / x.size(1), x.size(1), eps, at::get_num_threads(), {}};
}

// True if kernels compute this normalization; `numbers`: weights and statistics.
bool isForKernels(const at::Tensor& x, std::initializer_list<Optional> numbers) {
  if (x.dim() != 4 || !isPlainFloats(x) || !x.is_contiguous(kPixelsOfChannels) || x.numel() <= x.size(1)) return false;
  return std::all_of(numbers.begin(), numbers.end(), [&x](const Optional& tensor) {
    return !tensor || !tensor->defined() ||
           (isPlainFloats(*tensor) && tensor->is_contiguous() && tensor->numel() == x.size(1));
  });
}

// running += (batch - running) · momentum, with the roundings of PyTorch.
void moveRunning(const Optional& running, const at::Tensor& batch, double momentum, double correction) {
  if (!running || !running->defined()) return;
  float* const values = running->data_ptr<float>();
  const float* const from = batch.data_ptr<float>();
  for (std::int64_t c = 0; c < batch.numel(); ++c) {
    values[c] = static_cast<float>(momentum * correction * from[c] + (1 - momentum) * values[c]);
  }
  if (!running->is_inference()) running->unsafeGetTensorImpl()->bump_version();
}

struct Normalized {
  at::Tensor y, mean, inverse;
};

Normalized normalize(const at::Tensor& x, const Optional& weight, const Optional& bias, const Optional& running_mean,
                     const Optional& running_var, double momentum, double eps) {
  const auto numbers = [&x] { return at::empty({x.size(1)}, x.options()); };
  Normalized result{at::empty(x.sizes(), x.options().memory_format(kPixelsOfChannels)), numbers(), numbers()};
  const at::Tensor variance = numbers();
  const BatchNormJob job = jobOf(x, eps);
  batchNormForward(job, numbersOf(x), numbersOf(orUndefined(weight)), numbersOf(orUndefined(bias)),
                   result.y.data_ptr<float>(), result.mean.data_ptr<float>(), result.inverse.data_ptr<float>(),
                   variance.data_ptr<float>());
  const auto rows = static_cast<double>(job.rows);
  moveRunning(running_mean, result.mean, momentum, 1);
  moveRunning(running_var, variance, momentum, rows / (rows - 1));
  return result;
}

class BatchNorm2d : public torch::autograd::Function<BatchNorm2d> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const Optional& weight, const Optional& bias,
                            const Optional& running_mean, const Optional& running_var, double momentum, double eps) {
    at::AutoDispatchBelowADInplaceOrView below;
    const Normalized result = normalize(x, weight, bias, running_mean, running_var, momentum, eps);
    context->save_for_backward({x, orUndefined(weight), result.mean, result.inverse});
    context->saved_data["eps"] = eps;
    const auto wants = [](const at::Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); };
    context->saved_data["wanted"] = std::vector<bool>{wants(x), wants(orUndefined(weight)), wants(orUndefined(bias))};
    return result.y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &mean = saved[2], &inverse = saved[3];
    const double eps = context->saved_data["eps"].toDouble();
    const c10::List<bool> asked = context->saved_data["wanted"].toBoolList();
    const std::array<bool, 3> wanted{asked[0], asked[1], asked[2]};
    variable_list result(7);
    if (at::GradMode::is_enabled() || !isPlainFloats(gradients[0])) {
      std::tie(result[0], result[1], result[2]) =
          at::native_batch_norm_backward(gradients[0], x, weight, {}, {}, mean, inverse, true, eps, wanted);
      return result;
    }
    const at::Tensor dy = gradients[0].contiguous(kPixelsOfChannels);
    const auto place = [&](std::size_t i) { return wanted[i] ? result[i].data_ptr<float>() : nullptr; };
    if (wanted[0]) result[0] = at::empty(x.sizes(), x.options().memory_format(kPixelsOfChannels));
    for (const std::size_t i : {1, 2}) {
      if (wanted[i]) result[i] = at::empty_like(mean);
    }
    batchNormBackward(jobOf(x, eps), numbersOf(x), numbersOf(dy), numbersOf(weight), numbersOf(mean),
                      numbersOf(inverse), place(0), place(1), place(2));
    return result;
  }
};

at::Tensor stockNorm(const at::Tensor& x, const Optional& weight, const Optional& bias, const Optional& running_mean,
                     const Optional& running_var, bool training, double momentum, double eps) {
  return at::batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps, true);
}

at::Tensor batchNorm2d(const at::Tensor& x, const Optional& weight, const Optional& bias, const Optional& running_mean,
                       const Optional& running_var, bool training, double momentum, double eps) {
  if (!training || !isForKernels(x, {weight, bias, running_mean, running_var})) {
    return stockNorm(x, weight, bias, running_mean, running_var, training, momentum, eps);
  }
  return normalize(x, weight, bias, running_mean, running_var, momentum, eps).y;
}

at::Tensor batchNorm2dAutograd(const at::Tensor& x, const Optional& weight, const Optional& bias,
                               const Optional& running_mean, const Optional& running_var, bool training,
                               double momentum, double eps) {
  if (!training || !isForKernels(x, {weight, bias, running_mean, running_var})) {
    return stockNorm(x, weight, bias, running_mean, running_var, training, momentum, eps);
  }
  return BatchNorm2d::apply(x, weight, bias, running_mean, running_var, momentum, eps);
}

at::Tensor batchNorm2dMeta(const at::Tensor& x, const Optional&, const Optional&, const Optional&, const Optional&,
                           bool, double, double) {
  return at::empty_like(x);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def(
      "batch_norm2d(Tensor x, Tensor? weight, Tensor? bias, Tensor(a!)? running_mean, Tensor(b!)? running_var, bool "
      "training, float momentum, float eps) -> Tensor");
}
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) { m.impl("batch_norm2d", batchNorm2d); }
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) { m.impl("batch_norm2d", batchNorm2dMeta); }
TORCH_LIBRARY_IMPL(ipex_studio, Autograd, m) { m.impl("batch_norm2d", batchNorm2dAutograd); }

}  // namespace ipex_studio
