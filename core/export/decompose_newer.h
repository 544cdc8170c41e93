// Writes operators of newer PyTorch out where they are operators of ours.
#pragma once

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// An older libtorch does not have these operators (kernels/torch/*_shim.cpp give it some), so neither does the stock PyTorch
// that a portable export is for. Replaces each by what it computes, with the same numbers; what depends on whether there is a
// mask or a weight, and of which type, is decided at run time. Operators that this libtorch has stay.
void decomposeNewerOperators(torch::jit::Graph& graph);

}  // namespace ipex_studio
