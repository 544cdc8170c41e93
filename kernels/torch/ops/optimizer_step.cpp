// ipex_studio::optimizer_step: one step of an optimizer over all parameters (kernels/optim), for TorchScript and C++.
//
//   optimizer_step(str optimizer, float[] settings, Tensor(a!)[] parameters, Tensor[] gradients, Tensor(b!)[] states,
//                  int step, float gradient_scale=1., float max_norm=0., bool skip_infinite=False, bool fast=False)
//       -> float
//
// optimizer    "sgd", "adam", "adamw" …; kernels/optim/optimizer.h lists them with the order of their settings and the
//              states that a parameter has
// settings     all of them, as numbers; flags are 0 or 1
// gradients    one for each parameter, only read
// states       those of the first parameter, then those of the second, and so on; FP32, with the sizes of the parameter
//              (mu_product of nadam: one number)
// step         the number of this step, from 1; at 1 the momentum buffers of sgd and lars are written, not read
// gradient_scale, max_norm, skip_infinite, fast
//              as in kernels/optim/update.h: gradients are multiplied by gradient_scale, then clipped to the norm
//              max_norm if that is above 0; with skip_infinite nothing changes when a gradient is infinite or NaN
//
// Returns the norm of all gradients after gradient_scale if max_norm or skip_infinite ask for it, else 0. Results are,
// bit for bit, those of the for-loops of torch.optim of this version of PyTorch; with fast they differ by at most 2
// units in the last place. Tensors are FP32 on the CPU, in any layout; gradients and states that lie in memory as their
// parameter does are used where they are, others by way of copies. Runs on at::get_num_threads() threads. Throws
// c10::Error that says what does not fit, before anything has changed.
#include <torch/library.h>

#include "kernels/torch/ops/optimizer_operands.h"

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

OptimizerTensor operandsOf(Optimizer optimizer, std::int64_t number, const at::Tensor& parameter,
                           const at::Tensor& gradient, at::TensorList states, DenseTensors* dense) {
  checkOperand("parameter", number, parameter, parameter.sizes());
  checkOperand("gradient", number, gradient, parameter.sizes());
  OptimizerTensor tensor;
  const at::Tensor own = dense->first(parameter);
  tensor.parameter = own.data_ptr<float>();
  tensor.gradient = dense->inOrderOf(own, gradient, false).data_ptr<float>();
  for (std::size_t j = 0; j < states.size(); ++j) {
    const bool one = isScalarState(optimizer, static_cast<int>(j));
    checkOperand("state", number, states[j], one ? states[j].sizes() : parameter.sizes());
    TORCH_CHECK(!one || states[j].numel() == 1, "ipex_studio::optimizer_step: state ", j, " of parameter ", number,
                " is one number.");
    tensor.states[j] = (one ? states[j] : dense->inOrderOf(own, states[j], true)).data_ptr<float>();
  }
  tensor.count = parameter.numel();
  return tensor;
}

double optimizerStep(std::string name, std::vector<double> settings, at::TensorList parameters,
                     at::TensorList gradients, at::TensorList states, std::int64_t step, double gradient_scale,
                     double max_norm, bool skip_infinite, bool fast) {
  const at::NoGradGuard no_grad;
  const Optimizer optimizer = optimizerNamed(name);
  TORCH_CHECK(static_cast<int>(settings.size()) == settingCount(optimizer), "ipex_studio::optimizer_step got ",
              settings.size(), " settings; ", name, " has ", settingCount(optimizer), ".");
  TORCH_CHECK(step >= 1, "ipex_studio::optimizer_step: steps count from 1, not ", step, ".");
  const std::size_t each = static_cast<std::size_t>(stateCount(optimizer, settings.data()));
  checkCounts(optimizer, parameters.size(), gradients.size(), states.size(), each);
  DenseTensors dense;
  std::vector<OptimizerTensor> tensors;
  tensors.reserve(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    tensors.push_back(operandsOf(optimizer, static_cast<std::int64_t>(i), parameters[i], gradients[i],
                                 states.slice(i * each, each), &dense));
    tensors.back().step = step;
  }
  const double norm = updateParameters(optimizer, {std::move(settings)}, tensors,
                                       updateOptions(fast, gradient_scale, max_norm, skip_infinite));
  dense.writeBack();
  for (const at::Tensor& parameter : parameters) raiseVersion(parameter);
  return norm;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def(
      "optimizer_step(str optimizer, float[] settings, Tensor(a!)[] parameters, Tensor[] gradients, "
      "Tensor(b!)[] states, int step, float gradient_scale=1., float max_norm=0., bool skip_infinite=False, "
      "bool fast=False) -> float",
      optimizerStep);
}

}  // namespace ipex_studio
