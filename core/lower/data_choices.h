// Operators whose results' sizes depend on the data: no plan can hold them, so operators of ours take their place
// between regions (kernels/torch/ops).
#pragma once

#include "core/graph/origins.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Writes an operator of ours for x[mask], masked_select, nonzero, argwhere and unique before `node`, reads
// its results instead of the node's, and returns it; null if it is no such node or nothing is known about its operands.
// The caller destroys the node.
torch::jit::Node* replaceDataChoice(torch::jit::Node* node);

// Writes nonzero and unbind for aten::nonzero_numpy and aten::where(x), whose lists regions then read through.
void splitNonzeroLines(torch::jit::Graph& graph, OriginTable& origins);

// True for the operators that replaceDataChoice() writes.
bool isDataChoice(const torch::jit::Node* node);

}  // namespace ipex_studio
