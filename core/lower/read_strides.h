// Nodes whose results have to lie in memory as the model lays them out, since a node reads that. Private to regions.
#pragma once

#include "core/graph/node_set.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Regions give row-major results. aten::as_strided, aten::stride and the like see the difference: all between them and
// values that are row-major in any case are nodes of this set.
NodeSet nodesWithReadStrides(torch::jit::Graph& graph);

}  // namespace ipex_studio
