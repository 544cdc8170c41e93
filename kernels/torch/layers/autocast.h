// Layers under autocast: values go through them in BF16, parameters stay FP32 and are rounded where they are packed.
#pragma once

#include <ATen/core/Tensor.h>

namespace ipex_studio {

// True if autocast of the CPU is on.
bool autocastIsOn();

// True if autocast of the CPU computes in BF16; in other types layers are those of PyTorch.
bool autocastIsBf16();

// FP32 values in BF16; others as they are. The gradient goes back in their own type.
at::Tensor autocastToBf16(const at::Tensor& values);

// A parameter in the type of values that it meets, for layers of PyTorch; undefined stays undefined.
inline at::Tensor inTypeOf(const at::Tensor& values, const at::Tensor& parameter) {
  const bool same = !parameter.defined() || parameter.scalar_type() == values.scalar_type();
  return same ? parameter : parameter.to(values.scalar_type());
}

inline c10::optional<at::Tensor> inTypeOf(const at::Tensor& values, const c10::optional<at::Tensor>& parameter) {
  return parameter ? c10::optional<at::Tensor>(inTypeOf(values, *parameter)) : parameter;
}

}  // namespace ipex_studio
