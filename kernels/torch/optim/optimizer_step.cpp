// ipex_studio::optimizer_step: one step of an optimizer over all parameters (kernels/optim), for TorchScript and C++.
//
//   optimizer_step(str optimizer, float[] settings, Tensor(a!)[] parameters, Tensor[] gradients, Tensor(b!)[] states,
//                  int step, float gradient_scale=1., float max_norm=0., bool skip_infinite=False, bool fast=False,
//                  Tensor(c!)? update_ns=None) -> float
//
//   optimizer_step.companions(…, Tensor(b!)[] states, Tensor(c!)[] companions, int step, …) -> float
//
// optimizer    "sgd", "adam", "adamw" …; kernels/optim/optimizer.h lists them with the order of their settings and the
//              states that a parameter has
// settings     all of them, as numbers; flags are 0 or 1
// gradients    one for each parameter, only read
// states       those of the first parameter, then those of the second, and so on; FP32, with the sizes of the parameter
//              (mu_product of nadam: one number)
// companions   one for each parameter: what makes FP32 numbers of BF16 and FP16 (canStep of optimizer_operands.h)
// step         the number of this step, from 1; at 1 the momentum buffers of sgd and lars are written, not read
// gradient_scale, max_norm, skip_infinite, fast
//              as in kernels/optim/update.h: gradients are multiplied by gradient_scale, then clipped to the norm
//              max_norm if that is above 0; with skip_infinite nothing changes when a gradient is infinite or NaN
//
// update_ns    int64, one number a parameter: becomes the nanoseconds that its update took, all threads together,
//              without the norms before it
//
// Returns the norm of all gradients after gradient_scale if max_norm or skip_infinite ask for it, else 0. Results are,
// bit for bit, those of the for-loops of torch.optim of this version of PyTorch; with fast they differ by at most 2
// units in the last place. Tensors are on the CPU, in any layout, FP32 where there are no companions; gradients and
// states that lie in memory as their parameter does are used where they are, others by way of copies. Runs on
// at::get_num_threads() threads. Throws c10::Error that says what does not fit, before anything has changed.
#include <torch/library.h>

#include "kernels/torch/optim/optimizer_operands.h"

namespace ipex_studio {
namespace {

void checkOperand(const char* role, std::int64_t number, const at::Tensor& tensor, c10::IntArrayRef sizes) {
  TORCH_CHECK(tensor.defined() && tensor.device().is_cpu() && tensor.layout() == at::kStrided &&
                  tensor.scalar_type() == at::kFloat,
              "ipex_studio::optimizer_step takes dense FP32 tensors on the CPU; ", role, " ", number, " is none.");
  TORCH_CHECK(tensor.sizes() == sizes, "ipex_studio::optimizer_step: ", role, " ", number, " has the sizes ",
              tensor.sizes(), ", its parameter has ", sizes, ".");
}

void checkCounts(Optimizer optimizer, std::size_t parameters, std::size_t gradients, std::size_t states,
                 std::size_t states_each) {
  TORCH_CHECK(gradients == parameters, "ipex_studio::optimizer_step got ", parameters, " parameters and ", gradients,
              " gradients; give one for each.");
  TORCH_CHECK(states == parameters * states_each, "ipex_studio::optimizer_step got ", states, " states; ",
              optimizerName(optimizer), " with these settings has ", states_each, " for each of ", parameters,
              " parameters.");
}

// One parameter and what belongs to it. `companion`: null if parameters have none.
struct StepOperands {
  const at::Tensor &parameter, &gradient;
  const at::Tensor* companion;
  at::TensorList states;
};

void checkOperands(std::int64_t number, const StepOperands& operands) {
  if (operands.companion) {
    TORCH_CHECK(canStep(operands.parameter, operands.gradient, *operands.companion),
                "ipex_studio::optimizer_step: ", "parameter ", number, " is ", operands.parameter.scalar_type(),
                " with a companion that is ", operands.companion->scalar_type(),
                "; give none to FP32, lower halves to BF16, FP32 to BF16 and FP16, ",
                "of the sizes of the parameter, and a gradient of these types.");
  } else {
    checkOperand("parameter", number, operands.parameter, operands.parameter.sizes());
    checkOperand("gradient", number, operands.gradient, operands.parameter.sizes());
  }
}

OptimizerTensor operandsOf(Optimizer optimizer, std::int64_t number, const StepOperands& operands,
                           DenseTensors* dense) {
  checkOperands(number, operands);
  const at::Tensor& parameter = operands.parameter;
  const at::TensorList states = operands.states;
  OptimizerTensor tensor;
  const at::Tensor own = dense->first(parameter);
  placeParameter(own, operands.companion ? *operands.companion : own, /*rounded=*/false, &tensor, dense);
  placeGradient(own, operands.gradient, &tensor, dense);
  for (std::size_t j = 0; j < states.size(); ++j) {
    const bool one = isScalarState(optimizer, static_cast<int>(j));
    checkOperand("state", number, states[j], one ? states[j].sizes() : parameter.sizes());
    TORCH_CHECK(!one || states[j].numel() == 1, "ipex_studio::optimizer_step: state ", j, " of parameter ", number,
                " is one number.");
    tensor.states[j] = (one ? states[j] : dense->inOrderOf(own, states[j], true)).data_ptr<float>();
  }
  return tensor;
}

double stepWithCompanions(std::string name, std::vector<double> settings, at::TensorList parameters,
                          at::TensorList gradients, at::TensorList states, at::TensorList companions, std::int64_t step,
                          double gradient_scale, double max_norm, bool skip_infinite, bool fast,
                          std::int64_t* update_ns = nullptr) {
  const at::NoGradGuard no_grad;
  const Optimizer optimizer = optimizerNamed(name);
  TORCH_CHECK(static_cast<int>(settings.size()) == settingCount(optimizer), "ipex_studio::optimizer_step got ",
              settings.size(), " settings; ", name, " has ", settingCount(optimizer), ".");
  TORCH_CHECK(step >= 1, "ipex_studio::optimizer_step: steps count from 1, not ", step, ".");
  const std::size_t each = static_cast<std::size_t>(stateCount(optimizer, settings.data()));
  checkCounts(optimizer, parameters.size(), gradients.size(), states.size(), each);
  TORCH_CHECK(companions.empty() || companions.size() == parameters.size(), "ipex_studio::optimizer_step got ",
              companions.size(), " companions; give one for each of ", parameters.size(), " parameters, or none.");
  DenseTensors dense;
  std::vector<OptimizerTensor> tensors;
  tensors.reserve(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const StepOperands operands{parameters[i], gradients[i], companions.empty() ? nullptr : &companions[i],
                                states.slice(i * each, each)};
    tensors.push_back(operandsOf(optimizer, static_cast<std::int64_t>(i), operands, &dense));
    tensors.back().step = step;
  }
  UpdateOptions options = updateOptions(fast, gradient_scale, max_norm, skip_infinite);
  options.update_ns = update_ns;
  const double norm = updateParameters(optimizer, {std::move(settings)}, tensors, options);
  dense.writeBack();
  for (const at::Tensor& parameter : parameters) raiseVersion(parameter);
  return norm;
}

double optimizerStep(std::string name, std::vector<double> settings, at::TensorList parameters,
                     at::TensorList gradients, at::TensorList states, std::int64_t step, double gradient_scale,
                     double max_norm, bool skip_infinite, bool fast, const c10::optional<at::Tensor>& update_ns) {
  TORCH_CHECK(
      !update_ns || (isPlainCpu(*update_ns) && update_ns->scalar_type() == at::kLong && update_ns->is_contiguous() &&
                     update_ns->numel() == static_cast<std::int64_t>(parameters.size())),
      "ipex_studio::optimizer_step: update_ns holds one int64 for each parameter.");
  return stepWithCompanions(std::move(name), std::move(settings), parameters, gradients, states, {}, step,
                            gradient_scale, max_norm, skip_infinite, fast,
                            update_ns ? update_ns->data_ptr<std::int64_t>() : nullptr);
}

double companionsStep(std::string name, std::vector<double> settings, at::TensorList parameters,
                      at::TensorList gradients, at::TensorList states, at::TensorList companions, std::int64_t step,
                      double gradient_scale, double max_norm, bool skip_infinite, bool fast) {
  return stepWithCompanions(std::move(name), std::move(settings), parameters, gradients, states, companions, step,
                            gradient_scale, max_norm, skip_infinite, fast);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def(
      "optimizer_step(str optimizer, float[] settings, Tensor(a!)[] parameters, Tensor[] gradients, "
      "Tensor(b!)[] states, int step, float gradient_scale=1., float max_norm=0., bool skip_infinite=False, "
      "bool fast=False, Tensor(c!)? update_ns=None) -> float",
      optimizerStep);
  m.def(
      "optimizer_step.companions(str optimizer, float[] settings, Tensor(a!)[] parameters, Tensor[] gradients, "
      "Tensor(b!)[] states, Tensor(c!)[] companions, int step, float gradient_scale=1., float max_norm=0., "
      "bool skip_infinite=False, bool fast=False) -> float",
      companionsStep);
}

}  // namespace ipex_studio
