// Fits a graph to a target that has only some operators.
#pragma once

#include <string>
#include <vector>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Writes operators of `graph` that `only` lacks ("aten::silu") out in operators that it has: the same numbers up to
// reassociation, wherever a way is known; what has none stays. Not thread-safe on the same graph.
void fitToTarget(torch::jit::Graph& graph, const std::vector<std::string>& only);

// The nodes of `graph`, inner ones too, that a file would name as operators and `only` lacks, in their order.
std::vector<const torch::jit::Node*> nodesOutside(torch::jit::Graph& graph, const std::vector<std::string>& only);

}  // namespace ipex_studio
