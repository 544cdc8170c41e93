// Permutations of axes, read from nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/graph/fused_op.h"

namespace ipex_studio {

// Axis i of the result is axis order[i] of the operand.
using Permutation = std::vector<std::int64_t>;

// The permutation that aten::permute, transpose or t makes of its first operand; nullopt for other nodes, and where
// axes or rank are not known.
std::optional<Permutation> permutationOf(const torch::jit::Node* node);

bool isIdentityPermutation(const Permutation& order);

}  // namespace ipex_studio
