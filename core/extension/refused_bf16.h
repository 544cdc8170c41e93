// Operators of BF16 that later versions of PyTorch compute, and that this libtorch refuses or gets wrong.
#pragma once

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Lets transposed convolutions and embedding bags of BF16 compute in FP32 and give BF16, in all methods of a module,
// where this libtorch cannot. Returns how many were changed. Where the type of the weights is not in the code, a
// condition asks for it.
int widenRefusedBf16(const torch::jit::Module& module);

}  // namespace ipex_studio
