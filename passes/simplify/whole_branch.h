// When a graph is two forms of the same thing.
#pragma once

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// True if all results of the graph are those of its only condition: its author, or a pass that gives a case a graph of
// its own, made it so.
bool isWholeBranch(const torch::jit::Graph& graph);

}  // namespace ipex_studio
