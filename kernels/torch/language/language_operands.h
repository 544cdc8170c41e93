// Operands of the operators of language models.
#pragma once

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <torch/library.h>
#include <torch/script.h>

#include "core/torch/second_derivative.h"
#include "kernels/torch/ops/vision_operator.h"

namespace ipex_studio {

using Optional = c10::optional<at::Tensor>;

// The floating type in which values are computed: float64 for itself, float32 for itself and floats below it. Throws
// c10::Error for others than dense floats on the CPU; `op`: the name of the operator.
at::ScalarType languageType(const char* op, const at::Tensor& values);

// The tensor in a type, undefined where there is none.
at::Tensor inType(const Optional& tensor, at::ScalarType type);

// A dense tensor without history, undefined where there is none.
at::Tensor denseValues(const at::Tensor& tensor);

// True if operators record for gradients, and one of the tensors has one.
inline bool hasGradient(const Optional& tensor) {
  return tensor.has_value() && tensor->defined() && tensor->requires_grad();
}
template <typename... Tensors>
bool needsGradient(const Tensors&... tensors) {
  return at::GradMode::is_enabled() && (hasGradient(tensors) || ...);
}

// Calls an operator below autograd: the kernel for the CPU, or for sizes alone. `Kernel`: the type of that for the CPU.
template <typename Kernel, typename... Arguments>
auto callBelowAutograd(const c10::TypedOperatorHandle<Kernel>& op, Arguments&&... arguments) {
  at::AutoDispatchBelowADInplaceOrView below;
  return op.call(std::forward<Arguments>(arguments)...);
}

template <typename T>
T* dataOrNull(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.data_ptr<T>() : nullptr;
}

}  // namespace ipex_studio
