// Pieces of one tensor: the slices and splits that stand side by side along one axis of it.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/fused_op.h"

namespace ipex_studio {

struct Pieces {
  torch::jit::Value* source = nullptr;
  std::int64_t axis = 0;  // counted from the front
  std::int64_t begin = 0;
  // One past the last piece; INT64_MAX where the pieces go to the end of the source, however long it is.
  std::int64_t end = INT64_MAX;
  bool removes_axis = false;             // unbind
  std::vector<torch::jit::Node*> nodes;  // that make the pieces, without the source's

  bool whole() const { return begin == 0 && end == INT64_MAX; }
};

// The axis that an operand names, counted from the front; nullopt for one counted from the end of an unknown rank, and
// for one outside of a known rank.
std::optional<std::int64_t> readAxis(const torch::jit::Value* axis, const torch::jit::Value* of);

// The same for a number.
std::optional<std::int64_t> readAxis(std::int64_t axis, const torch::jit::Value* of);

// A constant bound of a slice; `absent`: what None stands for. Nullopt where it is computed.
std::optional<std::int64_t> sliceBound(const torch::jit::Value* bound, std::int64_t absent);

// The values, two or more, that a cat or stack joins; empty where their list has other users, which may append to it.
std::vector<torch::jit::Value*> joinedValues(torch::jit::Node* node);

// Reads `values` as pieces of one tensor in their order, each beginning where the one before ends, for inputs of every
// size: slices with constant bounds, or all results of one chunk, split, split_with_sizes or unbind. Nullopt where they
// are something else.
std::optional<Pieces> readPieces(const std::vector<torch::jit::Value*>& values);

}  // namespace ipex_studio
