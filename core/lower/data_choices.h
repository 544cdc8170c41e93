// Operators whose results' sizes depend on the data, and those by which the data choose a branch: no plan can hold
// them, so operators of ours take their place between regions (kernels/torch/graph).
#pragma once

#include "core/graph/origins.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Writes an operator of ours for x[mask], masked_select, nonzero, argwhere, unique, and the question whether a mask
// keeps the beginning of each row; before `node`, whose readers then read its results. Returns it; null if it is no
// such node or nothing is known about its operands. The caller destroys the node, and views that only it read.
torch::jit::Node* replaceDataChoice(torch::jit::Node* node);

// Writes nonzero and unbind for aten::nonzero_numpy and aten::where(x), whose lists regions then read through.
void splitNonzeroLines(torch::jit::Graph& graph, OriginTable& origins);

// True for the operators that replaceDataChoice() writes.
bool isDataChoice(const torch::jit::Node* node);

}  // namespace ipex_studio
