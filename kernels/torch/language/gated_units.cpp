// ipex_studio::gated_units: activation(gate) · up with its gradient, which computes the activation again instead of
// keeping it (kernels/pointwise/gated.h).
//
//   gated_units(Tensor gate, Tensor up, str activation) -> Tensor
//
// activation: "silu", "gelu" (by erf), "gelu_tanh" or "relu". gate and up: of the same sizes and type, floats; float64
// is computed in itself, others in float32 and rounded once. They may be halves of one product's last axis.
#include "kernels/pointwise/gated.h"

#include "kernels/torch/language/language_operands.h"

namespace ipex_studio {
namespace {

constexpr char kGatedUnits[] = "gated_units";

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

Gate gateNamed(c10::string_view name) {
  if (name == "silu") return Gate::kSilu;
  if (name == "gelu") return Gate::kGelu;
  if (name == "gelu_tanh") return Gate::kGeluTanh;
  TORCH_CHECK_VALUE(name == "relu", kGatedUnits, ": activation '", name, "' is none of silu, gelu, gelu_tanh and relu");
  return Gate::kRelu;
}

// Rows of one tensor that lie a fixed distance apart: a tensor that is dense but for its last axis, otherwise a copy.
struct StridedRows {
  at::Tensor rows;
  std::int64_t stride = 0;

  explicit StridedRows(const at::Tensor& given) : rows(given.detach()) {
    const std::int64_t last = rows.dim() - 1;
    bool regular = last >= 0 && (rows.size(last) == 1 || rows.stride(last) == 1);
    for (std::int64_t axis = last - 2; regular && axis >= 0; --axis)
      regular = rows.size(axis) == 1 || rows.stride(axis) == rows.stride(axis + 1) * rows.size(axis + 1);
    if (!regular) rows = rows.contiguous();
    stride = rows.dim() > 1 ? rows.stride(-2) : rows.numel();
  }
};

GatedJob gatedJob(Gate gate, const StridedRows& of_gate, const StridedRows& of_up) {
  GatedJob job;
  job.gate = gate;
  job.width = of_gate.rows.dim() == 0 ? 1 : of_gate.rows.size(-1);
  job.rows = job.width == 0 ? 0 : of_gate.rows.numel() / job.width;
  job.gate_stride = of_gate.stride;
  job.up_stride = of_up.stride;
  return job;
}

void checkGated(const at::Tensor& gate, const at::Tensor& up) {
  TORCH_CHECK(gate.sizes() == up.sizes() && gate.scalar_type() == up.scalar_type(), kGatedUnits,
              ": gate and up have the same sizes and type, not ", gate.scalar_type(), " ", gate.sizes(), " and ",
              up.scalar_type(), " ", up.sizes());
}

at::Tensor gated(const at::Tensor& gate, const at::Tensor& up, Gate activation) {
  const StridedRows of_gate(gate), of_up(up);
  at::Tensor y = at::empty(gate.sizes(), gate.options());
  if (y.numel() == 0) return y;
  AT_DISPATCH_FLOATING_TYPES(y.scalar_type(), kGatedUnits, [&] {
    gatedUnits<scalar_t>(gatedJob(activation, of_gate, of_up), of_gate.rows.data_ptr<scalar_t>(),
                         of_up.rows.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), at::get_num_threads());
  });
  return y;
}

at::Tensor gatedOnCpu(const at::Tensor& gate, const at::Tensor& up, c10::string_view activation) {
  const at::ScalarType type = languageType(kGatedUnits, gate);
  checkGated(gate, up);
  return gated(gate.to(type), up.to(type), gateNamed(activation)).to(gate.scalar_type());
}

class GatedUnits : public torch::autograd::Function<GatedUnits> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& gate, const at::Tensor& up,
                            const std::string& activation) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->save_for_backward({gate, up});
    context->saved_data["activation"] = activation;
    return gated(gate, up, gateNamed(activation));
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    refuseSecondDerivative(kGatedUnits);
    const variable_list saved = context->get_saved_variables();
    const StridedRows gate(saved[0]), up(saved[1]);
    const at::Tensor gradient = gradients[0].contiguous();
    const at::Tensor of_gate = at::empty(gradient.sizes(), gradient.options()),
                     of_up = at::empty(gradient.sizes(), gradient.options());
    if (gradient.numel() > 0) {
      const Gate activation = gateNamed(context->saved_data["activation"].toStringRef());
      AT_DISPATCH_FLOATING_TYPES(gradient.scalar_type(), kGatedUnits, [&] {
        gatedUnitsGradient<scalar_t>(gatedJob(activation, gate, up), gate.rows.data_ptr<scalar_t>(),
                                     up.rows.data_ptr<scalar_t>(), gradient.data_ptr<scalar_t>(),
                                     of_gate.data_ptr<scalar_t>(), of_up.data_ptr<scalar_t>(), at::get_num_threads());
      });
    }
    return {of_gate, of_up, {}};
  }
};

at::Tensor gatedWithGradient(const at::Tensor& gate, const at::Tensor& up, c10::string_view activation) {
  static const auto op = operatorNamed<decltype(gatedOnCpu)>("ipex_studio::gated_units");
  if (!needsGradient(gate, up)) return callBelowAutograd(op, gate, up, activation);
  const at::ScalarType type = languageType(kGatedUnits, gate);
  checkGated(gate, up);
  return GatedUnits::apply(gate.to(type), up.to(type), std::string(activation)).to(gate.scalar_type());
}

at::Tensor gatedOnMeta(const at::Tensor& gate, const at::Tensor&, c10::string_view) {
  return at::empty(gate.sizes(), gate.options());
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) { m.def("gated_units(Tensor gate, Tensor up, str activation) -> Tensor"); }
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) { m.impl("gated_units", gatedOnCpu); }
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) { m.impl("gated_units", gatedOnMeta); }
TORCH_LIBRARY_IMPL(ipex_studio, Autograd, m) { m.impl("gated_units", gatedWithGradient); }

}  // namespace ipex_studio
