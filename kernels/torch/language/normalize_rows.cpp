// ipex_studio::normalize_rows, add_normalize_rows: layer norm and RMS norm over the last axis, of x or of x + residual,
// with gradients (kernels/norm/row_norm.h).
//
//   normalize_rows(Tensor x, Tensor? weight, Tensor? bias, float eps, bool centered) -> Tensor
//   add_normalize_rows(Tensor x, Tensor residual, Tensor? weight, Tensor? bias, float eps, bool centered)
//       -> (Tensor, Tensor)
//
// centered: layer norm, which subtracts the mean; otherwise RMS norm. weight, bias: [n] for rows of n values. Floats;
// float64 is computed in itself, others in float32 and rounded once. The second result is x + residual. Gradients have
// the same bits for any number of threads.
#include "kernels/norm/row_norm.h"

#include "kernels/torch/language/language_operands.h"

namespace ipex_studio {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

RowNormJob rowNormJob(const at::Tensor& x, double eps, bool centered) {
  RowNormJob job;
  job.norm = centered ? RowNorm::kDeviation : RowNorm::kRootMeanSquare;
  job.size = x.size(-1);
  job.rows = job.size == 0 ? 0 : x.numel() / job.size;
  job.eps = eps;
  return job;
}

void checkRows(const at::Tensor& x, const Optional& residual, const Optional& weight, const Optional& bias) {
  TORCH_CHECK(x.dim() >= 1, "normalize_rows: x is a number instead of rows");
  for (const Optional& factor : {weight, bias}) {
    if (!factor.has_value() || !factor->defined()) continue;
    TORCH_CHECK(factor->dim() == 1 && factor->size(0) == x.size(-1) && factor->is_floating_point(),
                "normalize_rows: weight and bias are [", x.size(-1), "] floats, as rows of x are wide, not ",
                factor->scalar_type(), " ", factor->sizes());
  }
  if (!residual.has_value()) return;
  TORCH_CHECK(residual->sizes() == x.sizes() && residual->scalar_type() == x.scalar_type(),
              "normalize_rows: the residual is as x is, ", x.scalar_type(), " ", x.sizes(), ", not ",
              residual->scalar_type(), " ", residual->sizes());
}

struct Normalized {
  at::Tensor y, sum;  // sum: x itself without a residual
};

// All operands have one type, float32 or float64.
Normalized normalized(const at::Tensor& x, const at::Tensor& residual, const at::Tensor& weight, const at::Tensor& bias,
                      double eps, bool centered) {
  const at::Tensor dense = denseValues(x), added = denseValues(residual), gamma = denseValues(weight),
                   beta = denseValues(bias);
  Normalized result{at::empty(dense.sizes(), dense.options()), dense};
  if (added.defined()) result.sum = at::empty(dense.sizes(), dense.options());
  if (dense.numel() == 0) return result;
  AT_DISPATCH_FLOATING_TYPES(dense.scalar_type(), "normalize_rows", [&] {
    normalizeRows<scalar_t>(rowNormJob(dense, eps, centered), dense.data_ptr<scalar_t>(), dataOrNull<scalar_t>(added),
                            dataOrNull<scalar_t>(gamma), dataOrNull<scalar_t>(beta), result.y.data_ptr<scalar_t>(),
                            added.defined() ? result.sum.data_ptr<scalar_t>() : nullptr, at::get_num_threads());
  });
  return result;
}

class NormalizeRows : public torch::autograd::Function<NormalizeRows> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& x, const Optional& residual,
                               const Optional& weight, const Optional& bias, double eps, bool centered) {
    at::AutoDispatchBelowADInplaceOrView below;
    const at::Tensor added = residual.value_or(at::Tensor()), gamma = weight.value_or(at::Tensor()),
                     beta = bias.value_or(at::Tensor());
    const Normalized result = normalized(x, added, gamma, beta, eps, centered);
    // A result that is to be saved gets its history first, so the sum is saved without.
    context->save_for_backward({added.defined() ? result.sum.detach() : x, gamma, beta});
    context->saved_data["eps"] = eps;
    context->saved_data["centered"] = centered;
    context->saved_data["added"] = added.defined();
    if (!added.defined()) return {result.y};
    return {result.y, result.sum};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    refuseSecondDerivative("normalize_rows");
    const variable_list saved = context->get_saved_variables();
    const at::Tensor x = denseValues(saved[0]), gamma = denseValues(saved[1]), &beta = saved[2];
    const bool added = context->saved_data["added"].toBool();
    const at::Tensor of_y = gradients[0].defined() ? gradients[0].contiguous() : at::zeros_like(x);
    const at::Tensor of_sum = added ? denseValues(gradients[1]) : at::Tensor();
    const at::Tensor of_x = at::empty(x.sizes(), x.options());
    at::Tensor of_gamma, of_beta;
    if (gamma.defined() && saved[1].requires_grad()) of_gamma = at::zeros(gamma.sizes(), x.options());
    if (beta.defined() && beta.requires_grad()) of_beta = at::zeros(beta.sizes(), x.options());
    if (x.numel() > 0) {
      const RowNormJob job =
          rowNormJob(x, context->saved_data["eps"].toDouble(), context->saved_data["centered"].toBool());
      AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "normalize_rows", [&] {
        RowNormGradients<scalar_t> to;
        to.x = of_x.data_ptr<scalar_t>();
        to.gamma = dataOrNull<scalar_t>(of_gamma);
        to.beta = dataOrNull<scalar_t>(of_beta);
        normalizeRowsGradient<scalar_t>(job, x.data_ptr<scalar_t>(), dataOrNull<scalar_t>(gamma),
                                        of_y.data_ptr<scalar_t>(), dataOrNull<scalar_t>(of_sum), to,
                                        at::get_num_threads());
      });
    }
    return {of_x, added ? of_x : at::Tensor(), of_gamma, of_beta, {}, {}};
  }
};

at::Tensor normalizeOnCpu(const at::Tensor& x, const Optional& weight, const Optional& bias, double eps,
                          bool centered) {
  const at::ScalarType type = languageType("normalize_rows", x);
  checkRows(x, {}, weight, bias);
  return normalized(x.to(type), {}, inType(weight, type), inType(bias, type), eps, centered).y.to(x.scalar_type());
}

std::tuple<at::Tensor, at::Tensor> addNormalizeOnCpu(const at::Tensor& x, const at::Tensor& residual,
                                                     const Optional& weight, const Optional& bias, double eps,
                                                     bool centered) {
  const at::ScalarType type = languageType("normalize_rows", x);
  checkRows(x, residual, weight, bias);
  const Normalized result =
      normalized(x.to(type), residual.to(type), inType(weight, type), inType(bias, type), eps, centered);
  return {result.y.to(x.scalar_type()), result.sum.to(x.scalar_type())};
}

at::Tensor normalizeWithGradient(const at::Tensor& x, const Optional& weight, const Optional& bias, double eps,
                                 bool centered) {
  static const auto op = operatorNamed<decltype(normalizeOnCpu)>("ipex_studio::normalize_rows");
  if (!needsGradient(x, weight, bias)) return callBelowAutograd(op, x, weight, bias, eps, centered);
  const at::ScalarType type = languageType("normalize_rows", x);
  checkRows(x, {}, weight, bias);
  return NormalizeRows::apply(x.to(type), Optional(), Optional(inType(weight, type)), Optional(inType(bias, type)), eps,
                              centered)[0]
      .to(x.scalar_type());
}

std::tuple<at::Tensor, at::Tensor> addNormalizeWithGradient(const at::Tensor& x, const at::Tensor& residual,
                                                            const Optional& weight, const Optional& bias, double eps,
                                                            bool centered) {
  static const auto op = operatorNamed<decltype(addNormalizeOnCpu)>("ipex_studio::add_normalize_rows");
  if (!needsGradient(x, residual, weight, bias)) return callBelowAutograd(op, x, residual, weight, bias, eps, centered);
  const at::ScalarType type = languageType("normalize_rows", x);
  checkRows(x, residual, weight, bias);
  const variable_list result =
      NormalizeRows::apply(x.to(type), Optional(residual.to(type)), Optional(inType(weight, type)),
                           Optional(inType(bias, type)), eps, centered);
  return {result[0].to(x.scalar_type()), result[1].to(x.scalar_type())};
}

at::Tensor normalizeOnMeta(const at::Tensor& x, const Optional&, const Optional&, double, bool) {
  return at::empty(x.sizes(), x.options());
}

std::tuple<at::Tensor, at::Tensor> addNormalizeOnMeta(const at::Tensor& x, const at::Tensor&, const Optional&,
                                                      const Optional&, double, bool) {
  return {at::empty(x.sizes(), x.options()), at::empty(x.sizes(), x.options())};
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def("normalize_rows(Tensor x, Tensor? weight, Tensor? bias, float eps, bool centered) -> Tensor");
  m.def(
      "add_normalize_rows(Tensor x, Tensor residual, Tensor? weight, Tensor? bias, float eps, bool centered) -> "
      "(Tensor, Tensor)");
}
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) {
  m.impl("normalize_rows", normalizeOnCpu);
  m.impl("add_normalize_rows", addNormalizeOnCpu);
}
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) {
  m.impl("normalize_rows", normalizeOnMeta);
  m.impl("add_normalize_rows", addNormalizeOnMeta);
}
TORCH_LIBRARY_IMPL(ipex_studio, Autograd, m) {
  m.impl("normalize_rows", normalizeWithGradient);
  m.impl("add_normalize_rows", addNormalizeWithGradient);
}

}  // namespace ipex_studio
