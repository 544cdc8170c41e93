// Tensors that kernels read and write by their address.
#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/common/bf16.h"

namespace ipex_studio {

// True if the tensor is memory of this type on the CPU and nothing but its values counts: no transformation of
// functions wraps it, and it has no derivative of forward mode.
inline bool isPlain(const at::Tensor& tensor, at::ScalarType type) {
  return tensor.device().is_cpu() && tensor.scalar_type() == type && tensor.layout() == at::kStrided &&
         tensor.has_storage() && !tensor.is_neg() && !tensor._fw_grad(/*level=*/0).defined();
}

inline bool isPlainFloats(const at::Tensor& tensor) { return isPlain(tensor, at::kFloat); }

// Values that layers pass on: FP32, or BF16 under autocast.
inline bool isPlainValues(const at::Tensor& tensor) { return isPlainFloats(tensor) || isPlain(tensor, at::kBFloat16); }

inline bool isBf16(const at::Tensor& tensor) { return tensor.scalar_type() == at::kBFloat16; }

inline Bf16* bf16Of(const at::Tensor& tensor) { return static_cast<Bf16*>(tensor.data_ptr()); }

}  // namespace ipex_studio
