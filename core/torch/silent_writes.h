// Operators that write to operands although no schema says so.
#pragma once

#include <vector>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// The operands that a node may write to without its schema saying so, such as the running statistics of a batch
// normalization in training mode; None is left out.
std::vector<torch::jit::Value*> silentlyWritten(const torch::jit::Node* node);

// True if nodes of this kind may write silently, as their flags say.
bool mayWriteSilently(c10::Symbol kind);

// True if a node may write to an operand, by its schema or silently. False for nodes without a schema.
bool writesOperands(const torch::jit::Node* node);

}  // namespace ipex_studio
