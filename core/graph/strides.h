// Nodes for which the order of a tensor in memory is part of what a model computes.
#pragma once

#include <vector>

#include "core/graph/node_set.h"

namespace ipex_studio {

// True for operators whose result depends on the strides of their first operand: as_strided, stride, is_contiguous …
bool readsStrides(c10::Symbol kind);

// True for operators that make new row-major memory, however their operands lie; aten::contiguous may find it.
bool makesRowMajor(const torch::jit::Node* node);

// The nodes between such operators and values that are row-major however they are made. Passes and plans leave them
// alone, since what they make in their place is row-major. Strides of the example run are no facts: those of axes of
// one element say nothing about longer ones. `readers` are all nodes of a graph for which readsStrides() is true.
NodeSet nodesWithShownStrides(const std::vector<torch::jit::Node*>& readers);
NodeSet nodesWithShownStrides(torch::jit::Graph& graph);

}  // namespace ipex_studio
