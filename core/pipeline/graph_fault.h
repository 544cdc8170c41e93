// graphFault: a check of a graph's structure in linear time. Graph::lint() of libtorch searches the readers of a value
// for each of them, which takes minutes where thousands of nodes share a constant.
#pragma once

#include <string>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Returns the first fault as a clause, without a full stop ("aten::add reads %y, which is not computed before it");
// empty: the graph is sound. Sound means that each operand is computed before it is read, in the same block or in one
// around it, that values and nodes know where they belong, and that the readers of each value are those that the graph
// has.
std::string graphFault(const torch::jit::Graph& graph);

}  // namespace ipex_studio
