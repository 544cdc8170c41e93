// Replaces operators of newer PyTorch that this libtorch lacks and gets as shims.
#pragma once

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// An older libtorch does not have these operators (kernels/torch/*_shim.cpp give it some), so neither does the stock
// PyTorch that a portable export is for. Replaces each by the computation it stands for, with the same numbers; whether
// there is a mask or a weight, and of which type, is decided at run time. Operators that this libtorch has stay.
void decomposeNewerOperators(torch::jit::Graph& graph);

}  // namespace ipex_studio
