// ipex_studio::linear_units: a linear layer with what language models do to its result.
//
//   linear_units(Tensor x, Tensor weight, Tensor? bias, str activation, Tensor? factor, Tensor[] addends) -> Tensor
//
// activation(x·weightᵀ + bias) · factor + Σ addends. activation: "none", "silu", "gelu" (by erf), "gelu_tanh" or
// "relu". FP32 without gradients is one step of a plan, whose weights are packed once (kernels/torch/ops/linear.cpp),
// where factor and at most two addends have the sizes of the result; all else is PyTorch's linear with gated_units.
#include <map>

#include "kernels/torch/language/language_operands.h"
#include "kernels/torch/ops/planned_call.h"

namespace ipex_studio {
namespace {

constexpr char kLinearUnits[] = "linear_units";
constexpr std::size_t kMaxPlannedAddends = 2;

// The steps by activation, factor and number of addends.
std::map<std::string, PlannedCall> plannedUnits() {
  const std::pair<const char*, const char*> activations[] = {
      {"none", ""}, {"silu", "|silu"}, {"gelu", "|gelu_erf"}, {"gelu_tanh", "|gelu_tanh"}, {"relu", "|relu"}};
  std::map<std::string, PlannedCall> steps;
  for (const auto& [name, step] : activations) {
    for (const bool factor : {false, true}) {
      std::string spec = std::string("linear{}") + step + (factor ? "|mul(0)" : "");
      for (std::size_t addends = 0; addends <= kMaxPlannedAddends; ++addends) {
        steps.emplace(c10::str(name, factor, addends), PlannedCall("linear", spec));
        spec += c10::str("|add(", addends + (factor ? 1 : 0), ")");
      }
    }
  }
  return steps;
}

struct LinearOperands {
  const at::Tensor &x, &weight;
  const Optional& bias;
  c10::string_view activation;
  const Optional& factor;
  at::TensorList addends;

  bool hasFactor() const { return factor.has_value() && factor->defined(); }

  template <typename Fn>
  bool all(const Fn& fn) const {
    for (const Optional& tensor : {Optional(x), Optional(weight), bias, factor}) {
      if (tensor.has_value() && tensor->defined() && !fn(*tensor)) return false;
    }
    return std::all_of(addends.begin(), addends.end(), fn);
  }
};

void checkUnits(const LinearOperands& of) {
  TORCH_CHECK(of.x.dim() >= 1 && of.weight.dim() == 2 && of.x.size(-1) == of.weight.size(1), kLinearUnits,
              ": x [..., K] and weight [N, K] do not fit: ", of.x.sizes(), " and ", of.weight.sizes());
}

std::vector<std::int64_t> resultSizes(const at::Tensor& x, const at::Tensor& weight) {
  std::vector<std::int64_t> sizes = x.sizes().vec();
  sizes.back() = weight.size(0);
  return sizes;
}

bool isPlanned(const LinearOperands& of) {
  const std::vector<std::int64_t> sizes = resultSizes(of.x, of.weight);
  const auto fits = [&](const at::Tensor& other) { return other.sizes() == at::IntArrayRef(sizes); };
  return of.x.dim() >= 2 && of.x.numel() > 0 && of.all([](const at::Tensor& tensor) {
    return tensor.scalar_type() == at::kFloat && tensor.device().is_cpu() && tensor.layout() == at::kStrided;
  }) && (!of.hasFactor() || fits(*of.factor)) &&
         std::all_of(of.addends.begin(), of.addends.end(), fits);
}

at::Tensor activated(const at::Tensor& x, c10::string_view activation) {
  if (activation == "silu") return at::silu(x);
  if (activation == "gelu") return at::gelu(x);
  if (activation == "gelu_tanh") return at::gelu(x, "tanh");
  if (activation == "relu") return at::relu(x);
  TORCH_CHECK_VALUE(activation == "none", kLinearUnits, ": activation '", activation,
                    "' is none of none, silu, gelu, gelu_tanh and relu");
  return x;
}

at::Tensor byStockLinear(const LinearOperands& of) {
  static const auto gated =
      operatorNamed<at::Tensor(const at::Tensor&, const at::Tensor&, c10::string_view)>("ipex_studio::gated_units");
  at::Tensor y = at::linear(of.x, of.weight, of.bias);
  const bool fits = of.hasFactor() && of.factor->sizes() == y.sizes() && of.factor->scalar_type() == y.scalar_type();
  if (fits && of.activation != "none") {
    y = gated.call(y, *of.factor, of.activation);
  } else {
    y = activated(y, of.activation);
    if (of.hasFactor()) y = y * *of.factor;
  }
  for (const at::Tensor& addend : of.addends) y = y + addend;
  return y;
}

at::Tensor linearOnCpu(const at::Tensor& x, const at::Tensor& weight, const Optional& bias, c10::string_view activation,
                       const Optional& factor, at::TensorList addends) {
  static const std::map<std::string, PlannedCall> steps = plannedUnits();
  const LinearOperands operands{x, weight, bias, activation, factor, addends};
  checkUnits(operands);
  const auto step = steps.find(c10::str(activation, operands.hasFactor(), addends.size()));
  if (step == steps.end() || !isPlanned(operands)) return byStockLinear(operands);
  c10::List<at::Tensor> others;
  if (operands.hasFactor()) others.push_back(*factor);
  for (const at::Tensor& addend : addends) others.push_back(addend);
  return step->second({x, weight, bias.has_value() ? c10::IValue(*bias) : c10::IValue(), others});
}

at::Tensor linearWithGradient(const at::Tensor& x, const at::Tensor& weight, const Optional& bias,
                              c10::string_view activation, const Optional& factor, at::TensorList addends) {
  const LinearOperands operands{x, weight, bias, activation, factor, addends};
  checkUnits(operands);
  if (at::GradMode::is_enabled() && !operands.all([](const at::Tensor& tensor) { return !tensor.requires_grad(); })) {
    return byStockLinear(operands);
  }
  static const auto op = operatorNamed<decltype(linearOnCpu)>("ipex_studio::linear_units");
  return callBelowAutograd(op, x, weight, bias, activation, factor, addends);
}

at::Tensor linearOnMeta(const at::Tensor& x, const at::Tensor& weight, const Optional&, c10::string_view,
                        const Optional&, at::TensorList) {
  return at::empty(resultSizes(x, weight), x.options());
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def(
      "linear_units(Tensor x, Tensor weight, Tensor? bias, str activation, Tensor? factor, Tensor[] addends) -> "
      "Tensor");
}
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) { m.impl("linear_units", linearOnCpu); }
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) { m.impl("linear_units", linearOnMeta); }
TORCH_LIBRARY_IMPL(ipex_studio, Autograd, m) { m.impl("linear_units", linearWithGradient); }

}  // namespace ipex_studio
