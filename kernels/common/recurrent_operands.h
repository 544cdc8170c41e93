// Operands that kernels of the recurrent half of LSTM and GRU have in common.
#pragma once

#include "core/op/kernel.h"

namespace ipex_studio {

// The verdict of kernels that compute in FP32 with weights that they pack. Declines: dtype, post-ops, empty, weights
// (not constant).
inline Verdict supportsRecurrence(const PrepareArgs& args) {
  for (const TensorDesc& src : args.src) {
    if (!src.absent() && src.dtype != DType::kF32) return Verdict::no("dtype");
  }
  if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
  if (args.dst[0].dims.count() == 0) return Verdict::no("empty");
  return args.constant[1] != nullptr && args.src[1].block == 0 ? Verdict::yes() : Verdict::no("weights");
}

}  // namespace ipex_studio
