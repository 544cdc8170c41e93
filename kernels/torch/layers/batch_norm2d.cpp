// ipex_studio::batch_norm2d: aten::batch_norm of images in training with its gradients, by kernels/training.
//
//   batch_norm2d(Tensor x, Tensor? weight, Tensor? bias, Tensor(a!)? running_mean, Tensor(b!)? running_var,
//                bool training, float momentum, float eps, Tensor? addend=None, bool relu=False) -> Tensor
//
// In training FP32 or BF16 on the CPU with channels last is computed by kernels, with parameters and statistics in
// FP32, and its result has x's type and channels last; all else goes to aten::batch_norm. The addend and ReLU follow,
// in the same pass where the addend lies like x. No mask is kept for ReLU: its gradient is computed from x again, or
// from the result where there is an addend. Running statistics move by `momentum` towards those of the batch, the
// variance with Bessel's correction. Results of kernels have the same bits for any number of threads. Second
// derivatives are those of PyTorch.
#include <ATen/Parallel.h>
#include <torch/library.h>
#include <torch/script.h>

#include <algorithm>

#include "kernels/torch/layers/autocast.h"
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

template <typename T>
T* elementsOf(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<T*>(tensor.data_ptr()) : nullptr;
}

BatchNormJob jobOf(const at::Tensor& x, double eps, bool relu) {
  return {x.numel() / x.size(1), x.size(1), eps, at::get_num_threads(), {}, relu};
}

// Parameters, and statistics of the batch.
struct NormNumbers {
  at::Tensor weight, bias, mean, inverse;

  BatchNormChannels channels() const {
    return {numbersOf(weight), numbersOf(bias), mean.data_ptr<float>(), inverse.data_ptr<float>()};
  }
};

// True if kernels compute this normalization; `numbers`: parameters and statistics.
bool isForKernels(const at::Tensor& x, std::initializer_list<Optional> numbers) {
  if (x.dim() != 4 || !isPlainValues(x) || !x.is_contiguous(kPixelsOfChannels) || x.numel() <= x.size(1)) return false;
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

// What kernels are asked for besides x.
struct NormRequest {
  Optional weight, bias, running_mean, running_var;
  double momentum, eps;
  at::Tensor addend;  // undefined: none
  bool relu;
};

at::Tensor normalize(const at::Tensor& x, const NormRequest& request, NormNumbers* numbers) {
  const auto perChannel = [&x] { return at::empty({x.size(1)}, x.options().dtype(at::kFloat)); };
  *numbers = {orUndefined(request.weight), orUndefined(request.bias), perChannel(), perChannel()};
  const at::Tensor variance = perChannel();
  at::Tensor y = at::empty(x.sizes(), x.options().memory_format(kPixelsOfChannels));
  const BatchNormJob job = jobOf(x, request.eps, request.relu);
  const auto run = [&](auto* result) {
    using T = std::remove_pointer_t<decltype(result)>;
    batchNormForward<T>(job, numbers->channels(), elementsOf<T>(x), elementsOf<T>(request.addend), result,
                        variance.data_ptr<float>());
  };
  isBf16(x) ? run(bf16Of(y)) : run(y.data_ptr<float>());
  const auto rows = static_cast<double>(job.rows);
  moveRunning(request.running_mean, numbers->mean, request.momentum, 1);
  moveRunning(request.running_var, variance, request.momentum, rows / (rows - 1));
  return y;
}

class BatchNorm2d : public torch::autograd::Function<BatchNorm2d> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const Optional& weight, const Optional& bias,
                            const Optional& addend, const NormRequest& request) {
    at::AutoDispatchBelowADInplaceOrView below;
    NormNumbers numbers;
    at::Tensor y = normalize(x, request, &numbers);
    const bool by_result = request.relu && request.addend.defined();
    context->save_for_backward({x, numbers.weight, request.relu ? numbers.bias : at::Tensor(), numbers.mean,
                                numbers.inverse, by_result ? y : at::Tensor()});
    context->saved_data["eps"] = request.eps;
    context->saved_data["relu"] = request.relu;
    const auto wants = [](const at::Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); };
    context->saved_data["wanted"] =
        std::vector<bool>{wants(x), wants(orUndefined(weight)), wants(orUndefined(bias)), wants(orUndefined(addend))};
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &y = saved[5];
    const NormNumbers numbers{saved[1], saved[2], saved[3], saved[4]};
    const double eps = context->saved_data["eps"].toDouble();
    const bool relu = context->saved_data["relu"].toBool();
    const c10::List<bool> asked = context->saved_data["wanted"].toBoolList();
    const std::array<bool, 4> wanted{asked[0], asked[1], asked[2], asked[3]};
    variable_list result(5);
    if (at::GradMode::is_enabled() || !isPlain(gradients[0], x.scalar_type())) {
      at::Tensor dy = gradients[0];
      if (relu) dy = dy * positiveResults(x, numbers, y);
      std::tie(result[0], result[1], result[2]) =
          at::native_batch_norm_backward(dy, x, numbers.weight, {}, {}, numbers.mean, numbers.inverse, true, eps,
                                         std::array<bool, 3>{wanted[0], wanted[1], wanted[2]});
      if (wanted[3]) result[3] = dy;
      return result;
    }
    const at::Tensor dy = gradients[0].contiguous(kPixelsOfChannels);
    if (wanted[0]) result[0] = at::empty(x.sizes(), x.options().memory_format(kPixelsOfChannels));
    for (const std::size_t i : {1, 2}) {
      if (wanted[i]) result[i] = at::empty_like(numbers.mean);
    }
    at::Tensor passed = y.defined() ? at::empty(x.sizes(), x.options().memory_format(kPixelsOfChannels)) : at::Tensor();
    const BatchNormJob job = jobOf(x, eps, relu);
    const auto run = [&](const auto* values) {
      using T = std::remove_const_t<std::remove_pointer_t<decltype(values)>>;
      batchNormBackward<T>(job, numbers.channels(),
                           {values, elementsOf<T>(dy), elementsOf<T>(y), elementsOf<T>(result[0]),
                            elementsOf<T>(passed), elementsOf<float>(result[1]), elementsOf<float>(result[2])});
    };
    isBf16(x) ? run(static_cast<const Bf16*>(bf16Of(x))) : run(numbersOf(x));
    if (wanted[3]) result[3] = passed.defined() ? passed : dy;
    return result;
  }

 private:
  // One where ReLU passes, zero elsewhere.
  static at::Tensor positiveResults(const at::Tensor& x, const NormNumbers& numbers, const at::Tensor& y) {
    const at::NoGradGuard no_gradients;
    if (y.defined()) return y.le(0).logical_not().to(x.scalar_type());
    const std::vector<std::int64_t> sizes{1, -1, 1, 1};
    at::Tensor scale = numbers.inverse;
    if (numbers.weight.defined()) scale = scale * numbers.weight;
    at::Tensor normal = (x - numbers.mean.view(sizes)) * scale.view(sizes);
    if (numbers.bias.defined()) normal = normal + numbers.bias.view(sizes);
    return normal.le(0).logical_not().to(x.scalar_type());
  }
};

at::Tensor stockNorm(const at::Tensor& x, const NormRequest& request, bool training) {
  return at::batch_norm(x, request.weight, request.bias, request.running_mean, request.running_var, training,
                        request.momentum, request.eps, true);
}

// The sum has the type of the normalization.
at::Tensor followed(at::Tensor normalized, const Optional& addend, bool relu) {
  if (addend && addend->defined()) normalized = normalized.add(inTypeOf(normalized, *addend));
  return relu ? normalized.relu() : normalized;
}

// True if the addend can be added in the pass of the normalization.
bool liesAlike(const at::Tensor& addend, const at::Tensor& x) {
  return isPlain(addend, x.scalar_type()) && addend.sizes().equals(x.sizes()) &&
         addend.is_contiguous(kPixelsOfChannels);
}

// `run`: computes a request by kernels.
template <typename Run>
at::Tensor normalizeBy(const Run& run, const at::Tensor& x, NormRequest request, bool training,
                       const Optional& addend) {
  const bool relu = request.relu, added = addend && addend->defined();
  const bool ours =
      training && isForKernels(x, {request.weight, request.bias, request.running_mean, request.running_var});
  if (!ours) return followed(stockNorm(x, request, training), addend, relu);
  if (!added || liesAlike(*addend, x)) {
    request.addend = orUndefined(addend);
    return run(request);
  }
  request.relu = false;
  return followed(run(request), addend, relu);
}

at::Tensor batchNorm2d(const at::Tensor& x, const Optional& weight, const Optional& bias, const Optional& running_mean,
                       const Optional& running_var, bool training, double momentum, double eps, const Optional& addend,
                       bool relu) {
  NormNumbers numbers;
  const auto run = [&](const NormRequest& request) { return normalize(x, request, &numbers); };
  return normalizeBy(run, x, {weight, bias, running_mean, running_var, momentum, eps, {}, relu}, training, addend);
}

at::Tensor batchNorm2dAutograd(const at::Tensor& x, const Optional& weight, const Optional& bias,
                               const Optional& running_mean, const Optional& running_var, bool training,
                               double momentum, double eps, const Optional& addend, bool relu) {
  const auto run = [&](const NormRequest& request) {
    const Optional added = request.addend.defined() ? addend : Optional();
    return BatchNorm2d::apply(x, weight, bias, added, request);
  };
  return normalizeBy(run, x, {weight, bias, running_mean, running_var, momentum, eps, {}, relu}, training, addend);
}

at::Tensor batchNorm2dMeta(const at::Tensor& x, const Optional&, const Optional&, const Optional&, const Optional&,
                           bool, double, double, const Optional&, bool) {
  return at::empty_like(x);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def(
      "batch_norm2d(Tensor x, Tensor? weight, Tensor? bias, Tensor(a!)? running_mean, Tensor(b!)? running_var, bool "
      "training, float momentum, float eps, Tensor? addend=None, bool relu=False) -> Tensor");
}
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) { m.impl("batch_norm2d", batchNorm2d); }
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) { m.impl("batch_norm2d", batchNorm2dMeta); }
TORCH_LIBRARY_IMPL(ipex_studio, Autograd, m) { m.impl("batch_norm2d", batchNorm2dAutograd); }

}  // namespace ipex_studio
