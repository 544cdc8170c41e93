// ipex_studio::train_linear: aten::linear with its gradients, by kernels/training.
//
//   train_linear(Tensor x, Tensor w, Tensor? b, Tensor? low=None) -> Tensor
//
// x may be BF16, as it is under autocast, while w and b stay FP32: so is the result, and the gradients of w and b are
// FP32 sums, by products of FP32 where the CPU has none of BF16. `low` is w in BF16, where that is known: autocast
// rounds a weight once for all that reads it, until the step ends. FP32 goes to aten::linear where that has MKL or the
// CPU no AVX-512; so do empty operands, other types and transformations of functions. Second derivatives are those of
// PyTorch.
#include <ATen/Parallel.h>
#include <torch/library.h>
#include <torch/script.h>

#include "kernels/torch/layers/autocast.h"
#include "kernels/torch/layers/kept_linear.h"
#include "kernels/torch/layers/plain_floats.h"

namespace ipex_studio {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using LinearOptional = c10::optional<at::Tensor>;
using KeptLinear = std::shared_ptr<const LinearTraining>;

bool fits(const at::Tensor& x, const at::Tensor& w, const LinearOptional& b) {
  if (!isPlainValues(x) || !isPlainFloats(w) || w.dim() != 2 || x.dim() < 1) return false;
  if (x.size(-1) != w.size(1) || x.numel() == 0 || w.numel() == 0) return false;
  return !b || !b->defined() || (isPlainFloats(*b) && b->dim() == 1 && b->size(0) == w.size(0));
}

// The operation for operands that fit, if there is one that is quick.
KeptLinear preparedLinear(const at::Tensor& x, const at::Tensor& w) {
  return keptLinear({x.numel() / w.size(1), w.size(1), w.size(0), at::get_num_threads(), isBf16(x)});
}

// Rounded weights that do not fit are refused whatever computes: not every CPU has the kernels that read them.
void checkRounded(const at::Tensor& w, const LinearOptional& low) {
  TORCH_CHECK(!low || !low->defined() || (low->sizes() == w.sizes() && isBf16(*low)), "train_linear: weights of ",
              low->sizes(), " are not those of ", w.sizes(), " in BF16");
}

// The weights as kernels read them beside x.
at::Tensor readWeights(const at::Tensor& x, const at::Tensor& w, const LinearOptional& low) {
  return (isBf16(x) ? low && low->defined() ? *low : w.to(at::kBFloat16) : w).contiguous();
}

// x·wᵀ + b by `linear`; without one by products of FP32, whose result is rounded to the type of x.
at::Tensor runLinear(const KeptLinear& linear, const at::Tensor& x, const at::Tensor& weights,
                     const LinearOptional& b) {
  if (!linear) return inTypeOf(x, at::linear(x.to(at::kFloat), weights.to(at::kFloat), b));
  std::vector<std::int64_t> sizes = x.sizes().vec();
  sizes.back() = weights.size(0);
  at::Tensor y = at::empty(sizes, x.options().memory_format(at::MemoryFormat::Contiguous));
  const at::Tensor bias = b && b->defined() ? b->contiguous() : at::Tensor();
  linear->forward(x.contiguous().data_ptr(), weights.data_ptr(), bias.defined() ? bias.data_ptr<float>() : nullptr,
                  y.data_ptr());
  return y;
}

class TrainLinear : public torch::autograd::Function<TrainLinear> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& w, const LinearOptional& b,
                            const LinearOptional& low) {
    at::AutoDispatchBelowADInplaceOrView below;
    const at::Tensor weights = readWeights(x, w, low);
    const bool biased = b && b->defined();
    context->save_for_backward({x, w, isBf16(x) ? weights : at::Tensor()});
    context->saved_data["wanted"] =
        std::vector<bool>{x.requires_grad(), w.requires_grad(), biased && b->requires_grad()};
    return runLinear(preparedLinear(x, w), x, weights, b);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &w = saved[1];
    const c10::List<bool> asked = context->saved_data["wanted"].toBoolList();
    const std::array<bool, 3> wanted{asked[0], asked[1], asked[2]};
    variable_list result(4);
    const bool last = !at::GradMode::is_enabled() && isPlain(gradients[0], x.scalar_type());
    const KeptLinear linear = last ? preparedLinear(x, w) : nullptr;
    if (!linear) {
      const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
      // The weights as they were read, unless a second derivative wants to know where they come from.
      const at::Tensor read = (last && saved[2].defined() ? saved[2] : w).to(at::kFloat);
      const at::Tensor dy = gradients[0].to(at::kFloat), rows = dy.reshape({-1, w.size(0)});
      if (wanted[0]) result[0] = inTypeOf(x, dy.matmul(read));
      if (wanted[1]) result[1] = rows.t().matmul(x.to(at::kFloat).reshape({-1, w.size(1)}));
      if (wanted[2]) result[2] = rows.sum(0);
      return result;
    }
    const at::Tensor dy = gradients[0].contiguous(), rows = x.contiguous();
    const at::Tensor weights = saved[2].defined() ? saved[2] : w.contiguous();
    if (wanted[0]) {
      result[0] = at::empty(x.sizes(), x.options().memory_format(at::MemoryFormat::Contiguous));
      linear->sourceGradient(weights.data_ptr(), dy.data_ptr(), result[0].data_ptr());
    }
    if (wanted[2]) result[2] = at::empty({w.size(0)}, w.options());
    if (wanted[1] || wanted[2]) {
      result[1] = at::empty(w.sizes(), w.options());
      linear->weightGradient(rows.data_ptr(), dy.data_ptr(), result[1].data_ptr<float>(),
                             wanted[2] ? result[2].data_ptr<float>() : nullptr);
    }
    return result;
  }
};

// True if the layer is not PyTorch's: always where x is BF16 and weights are not, whose gradients are sums of FP32.
bool isOurs(const at::Tensor& x, const at::Tensor& w, const LinearOptional& b) {
  return fits(x, w, b) && (isBf16(x) || preparedLinear(x, w));
}

at::Tensor stockLinear(const at::Tensor& x, const at::Tensor& w, const LinearOptional& b) {
  return at::linear(x, inTypeOf(x, w), inTypeOf(x, b));
}

at::Tensor trainLinear(const at::Tensor& x, const at::Tensor& w, const LinearOptional& b, const LinearOptional& low) {
  checkRounded(w, low);
  if (!isOurs(x, w, b)) return stockLinear(x, w, b);
  return runLinear(preparedLinear(x, w), x, readWeights(x, w, low), b);
}

at::Tensor trainLinearAutograd(const at::Tensor& x, const at::Tensor& w, const LinearOptional& b,
                               const LinearOptional& low) {
  checkRounded(w, low);
  return isOurs(x, w, b) ? TrainLinear::apply(x, w, b, low) : stockLinear(x, w, b);
}

at::Tensor trainLinearUnderAutocast(const at::Tensor& x, const at::Tensor& w, const LinearOptional& b,
                                    const LinearOptional& low) {
  if (!autocastIsBf16()) return at::linear(x, w, b);
  const at::Tensor rounded = low && low->defined() ? *low : autocastToBf16(w).detach();
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("ipex_studio::train_linear", "")
                             .typed<decltype(trainLinearUnderAutocast)>();
  return op.call(autocastToBf16(x), w, b, rounded);
}

at::Tensor trainLinearMeta(const at::Tensor& x, const at::Tensor& w, const LinearOptional& b, const LinearOptional&) {
  return stockLinear(x, w, b);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def("train_linear(Tensor x, Tensor w, Tensor? b, Tensor? low=None) -> Tensor");
}
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) { m.impl("train_linear", trainLinear); }
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) { m.impl("train_linear", trainLinearMeta); }
TORCH_LIBRARY_IMPL(ipex_studio, Autograd, m) { m.impl("train_linear", trainLinearAutograd); }
TORCH_LIBRARY_IMPL(ipex_studio, AutocastCPU, m) { m.impl("train_linear", trainLinearUnderAutocast); }

}  // namespace ipex_studio
