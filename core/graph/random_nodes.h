// Which nodes draw random numbers.
#pragma once

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// True for nodes that draw from a generator when they run: factories, samplers, dropout that may train. Such a node is
// no function of its operands: it is neither folded nor merged with an equal one, and draws keep their order.
// libtorch's Node::isNondeterministic knows a part of them.
bool drawsRandomNumbers(const torch::jit::Node* node);

// True if the node or one in its blocks draws.
bool drawsInside(const torch::jit::Node* node);

}  // namespace ipex_studio
