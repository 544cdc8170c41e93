// ipex_studio::adafactor_step: one step of Adafactor over parameters of one group (kernels/optim/adafactor.h).
//
//   adafactor_step(float[] settings, Tensor(a!)[] parameters, Tensor[] gradients, Tensor(b!)[] moments, int[] steps)
//
// settings     lr beta2_decay eps1 eps2 d weight_decay maximize, as those of torch.optim.Adafactor
// gradients    one for each parameter, only read
// moments      two for each parameter: those of rows, [..., rows, 1], and of columns, [..., 1, columns]; or, for one
//              that has at most one dimension, those of its elements and an empty tensor
// steps        the number of this step for each parameter, from 1
//
// Tensors are FP32 on the CPU, in any layout. Throws c10::Error that says what does not fit, before anything has
// changed.
#include <ATen/Parallel.h>
#include <torch/library.h>

#include "kernels/optim/adafactor.h"
#include "kernels/torch/optim/optimizer_operands.h"

namespace ipex_studio {
namespace {

bool isFp32(const at::Tensor& tensor) { return isPlainCpu(tensor) && tensor.scalar_type() == at::kFloat; }

// Sizes of moments that are means over the last dimension (-1) or the one before (-2).
std::vector<std::int64_t> momentSizes(const at::Tensor& parameter, std::int64_t over) {
  std::vector<std::int64_t> sizes = parameter.sizes().vec();
  sizes[sizes.size() - static_cast<std::size_t>(-over)] = 1;
  return sizes;
}

void checkAdafactor(std::size_t number, const at::Tensor& parameter, const at::Tensor& gradient,
                    const at::Tensor& first, const at::Tensor& second) {
  TORCH_CHECK(isFp32(parameter) && isFp32(gradient) && isFp32(first) && isFp32(second),
              "ipex_studio::adafactor_step takes dense FP32 tensors on the CPU; parameter ", number,
              " or what belongs to it is none.");
  TORCH_CHECK(gradient.sizes() == parameter.sizes(), "ipex_studio::adafactor_step: gradient ", number,
              " has the sizes ", gradient.sizes(), ", its parameter has ", parameter.sizes(), ".");
  const bool vector = parameter.dim() < 2;
  const bool fits = vector
                        ? first.sizes() == parameter.sizes() && second.numel() == 0
                        : first.sizes() == momentSizes(parameter, -1) && second.sizes() == momentSizes(parameter, -2);
  TORCH_CHECK(fits, "ipex_studio::adafactor_step: moments of parameter ", number, " have the sizes ", first.sizes(),
              " and ", second.sizes(), ", which are not those of ", parameter.sizes(), ".");
}

void adafactorStepOperator(std::vector<double> settings, at::TensorList parameters, at::TensorList gradients,
                           at::TensorList moments, std::vector<std::int64_t> steps) {
  const at::NoGradGuard no_grad;
  TORCH_CHECK(settings.size() == 7, "ipex_studio::adafactor_step got ", settings.size(), " settings; it has 7.");
  TORCH_CHECK(gradients.size() == parameters.size() && moments.size() == 2 * parameters.size() &&
                  steps.size() == parameters.size(),
              "ipex_studio::adafactor_step takes a gradient, two moments and a step for each of ", parameters.size(),
              " parameters.");
  AdafactorSettings own;
  own.lr = settings[0];
  own.beta2_decay = settings[1];
  own.eps1 = settings[2];
  own.eps2 = settings[3];
  own.d = settings[4];
  own.weight_decay = settings[5];
  own.maximize = settings[6] != 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    checkAdafactor(i, parameters[i], gradients[i], moments[2 * i], moments[2 * i + 1]);
    TORCH_CHECK(steps[i] >= 1, "ipex_studio::adafactor_step: steps count from 1, not ", steps[i], ".");
  }
  // Rows and columns are those of the sizes, whatever the order of memory.
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;
  std::vector<at::Tensor> kept;
  const auto dense = [&](const at::Tensor& tensor, bool written) {
    if (tensor.is_contiguous()) return tensor.data_ptr<float>();
    const at::Tensor copy = tensor.contiguous();
    if (written) copies.emplace_back(tensor, copy);
    kept.push_back(copy);
    return copy.data_ptr<float>();
  };
  std::vector<AdafactorTensor> tensors;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor& parameter = parameters[i];
    if (parameter.numel() == 0) continue;
    AdafactorTensor tensor;
    tensor.parameter = dense(parameter, true);
    tensor.gradient = dense(gradients[i], false);
    tensor.step = steps[i];
    const bool vector = parameter.dim() < 2;
    tensor.columns = vector ? parameter.numel() : parameter.size(-1);
    if (vector) {
      tensor.moments = dense(moments[2 * i], true);
    } else {
      tensor.rows = parameter.size(-2);
      tensor.matrices = parameter.numel() / (tensor.rows * tensor.columns);
      tensor.row_moments = dense(moments[2 * i], true);
      tensor.moments = dense(moments[2 * i + 1], true);
    }
    tensors.push_back(tensor);
  }
  adafactorStep(own, tensors, at::get_num_threads());
  for (const auto& [original, copy] : copies) at::Tensor(original).copy_(copy);
  for (const at::Tensor& parameter : parameters) raiseVersion(parameter);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def(
      "adafactor_step(float[] settings, Tensor(a!)[] parameters, Tensor[] gradients, Tensor(b!)[] moments, "
      "int[] steps) -> ()",
      adafactorStepOperator);
}

}  // namespace ipex_studio
