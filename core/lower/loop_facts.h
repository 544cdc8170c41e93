// Questions about the nodes of loops whose rounds may become one node. Private to core/lower.
#pragma once

#include <optional>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// True if the loop has no condition of its own, and carries nothing but tensors.
bool carriesTensorsForAllRounds(const torch::jit::Node* loop);

// A constant axis of the tensor, which may have `more` axes than it was seen with, counted from the front.
std::optional<std::int64_t> axisOf(const torch::jit::Value* axis, const torch::jit::Value* tensor,
                                   std::int64_t more = 0);

// True for a slice by the number of the round of an outer loop, which has as many rounds as there are slices: it may be
// taken outside of inner loops, also of those without rounds.
bool isSliceOfRound(const torch::jit::Node* select);

// True for a list that is empty before the loop.
bool isNewList(const torch::jit::Node* list, const torch::jit::Node* loop);

// True for a stack or cat behind the loop.
bool joinsBehind(const torch::jit::Node* reader, const torch::jit::Node* loop);

// True if the loop alone writes to the tensor, and nothing that was made before would see it.
bool isWrittenFor(const torch::jit::Value* written, const torch::jit::Node* loop);

}  // namespace ipex_studio
