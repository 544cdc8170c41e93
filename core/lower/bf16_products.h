// Whether the products of a graph are computed in BF16, as under autocast or where a whole model was converted.
#pragma once

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// True if there are convolutions or matrix products whose type was seen in the example run, and all of them give BF16,
// or what is rounded to BF16 at once.
bool multipliesInBf16(torch::jit::Graph& graph);

}  // namespace ipex_studio
