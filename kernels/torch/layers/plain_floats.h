// Tensors that kernels read and write by their address.
#pragma once

#include <ATen/core/Tensor.h>

namespace ipex_studio {

// True if the tensor is FP32 memory on the CPU and nothing but its values counts: no transformation of functions wraps
// it, and it has no derivative of forward mode.
inline bool isPlainFloats(const at::Tensor& tensor) {
  return tensor.device().is_cpu() && tensor.scalar_type() == at::kFloat && tensor.layout() == at::kStrided &&
         tensor.has_storage() && !tensor.is_neg() && !tensor._fw_grad(/*level=*/0).defined();
}

}  // namespace ipex_studio
