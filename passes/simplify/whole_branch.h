// When a graph is two forms of the same thing.
#pragma once

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Are all results of the graph those of one condition, and is there no other? Then it was made so, by its author or by a pass
// that gives a case a graph of its own.
bool isWholeBranch(const torch::jit::Graph& graph);

}  // namespace ipex_studio
