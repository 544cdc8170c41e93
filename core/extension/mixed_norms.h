// Norms of files that later versions of PyTorch wrote.
#pragma once

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Lets norms of BF16 whose weights are FP32, as automatic mixed precision makes them, compute in the dtype of their
// weights and give the dtype of their input, in all methods of a module that holds BF16, where this libtorch refuses
// them. Returns how many were changed.
int widenMixedNorms(const torch::jit::Module& module);

}  // namespace ipex_studio
