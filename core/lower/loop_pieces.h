// The nodes that keep the body of a loop from being one region. Private to regions.cpp and its tests.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Nodes that keep the body of a loop from being one region, though one node may do them together with it.
struct LoopPieces {
  std::vector<torch::jit::Node*> slices;      // of tensors, by the number of the round
  std::vector<torch::jit::Node*> collectors;  // what appends and writes results; none before the others is needed
};

// Finds them where the rest of the body is for a region: all that `goes_inside` is true for. nullopt: the loop is
// another one.
std::optional<LoopPieces> piecesOfLoop(torch::jit::Node* loop,
                                       const std::function<bool(const torch::jit::Node*)>& goes_inside);

}  // namespace ipex_studio
