// Writes aten::scaled_dot_product_attention out where it is an operator of ours.
#pragma once

#include "core/graph/torch_compat.h"

namespace ipex_studio {

// libtorch before 2.0 does not have this operator (kernels/torch/sdpa_shim.cpp gives it one), so neither does the stock
// PyTorch that a portable export is for. Replaces each by what it computes, with the same numbers; what depends on whether
// there is a mask, and of which type, is decided at run time. From 2.0 on nothing happens.
void decomposeAttention(torch::jit::Graph& graph);

}  // namespace ipex_studio
