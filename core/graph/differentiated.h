// Nodes that a model differentiates while it runs: torch.autograd.grad() and backward() inside of forward.
#pragma once

#include "core/graph/node_set.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

// True if the graph, or a function or method that it calls, asks for gradients.
bool asksForGradients(const torch::jit::Graph& graph);

// Nodes through which gradients flow: between what is differentiated and what it is differentiated by; all before it
// where that is not said. Only operators that libtorch can differentiate may stand in their place, so they stay as they
// are. Empty for a graph that asks for no gradients.
NodeSet differentiatedNodes(torch::jit::Graph& graph);

}  // namespace ipex_studio
