// Forks that need not run at the same time become part of the graph.
#pragma once

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Writes out each prim::fork whose future is only waited for in the graph, and whose code neither prints, warns, raises
// nor changes objects: what it computes is then optimized with all else. Futures that are kept in lists or tuples until
// they are waited for are written out, too, if all in the graph can be. Calls in the graph must be inlined. Plans use
// all threads for each operation, so nothing is gained by running two at a time.
void inlineForks(torch::jit::Graph& graph);

}  // namespace ipex_studio
