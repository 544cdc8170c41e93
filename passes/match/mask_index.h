// Reads x[:, …, mask]: an index that is one mask. Private to passes/.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/graph/fused_op.h"
#include "passes/match/node_writer.h"

namespace ipex_studio {

struct MaskIndex {
  torch::jit::Value* mask = nullptr;
  std::size_t axis = 0;   // of x, where the axes of the mask begin
  std::size_t axes = 0;   // of the mask
  std::size_t inner = 0;  // axes of x behind them
};

// The mask of aten::index(x, indices), index_put or index_put_, if it is the only index, boolean, and as large as the
// axes of x that it stands for; nullopt for others, and where sizes or types were not seen.
std::optional<MaskIndex> readMaskIndex(const torch::jit::Node* node);

// True if the value's sizes fit those of x[:, …, mask] with any number of rows, and do not ask for a broadcast.
bool holdsMaskedRows(const torch::jit::Value* value, const torch::jit::Value* x, const MaskIndex& index);

// True if the value has at most the axes behind those of the mask, so that all rows get the same.
bool isOneForAllRows(const torch::jit::Value* value, const torch::jit::Value* x, const MaskIndex& index);

// True for a question about each element, whose answers have the sizes of what is asked about.
bool isComparison(const torch::jit::Node* node);

// The mask with an axis of one element for each axis of x behind its own, written before a node whose first operand is
// x. Operators that broadcast take masks of other sizes, which indexing refuses, so that it is asked for those of x at
// every call.
torch::jit::Value* maskOfRows(NodeWriter& masks, const MaskIndex& index);

}  // namespace ipex_studio
