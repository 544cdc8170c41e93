// Walks several tensors of one logical shape together: memory as strided loops, ordered by the first tensor's layout,
// with loops that run through memory as one merged.
#pragma once

#include <vector>

#include "core/op/tensor_view.h"

namespace ipex_studio {

// A channel block is a loop of its own, so a tensor has up to kMaxRank + 1 loops.
struct LoopNest {
  std::vector<std::int64_t> size;                 // outer to inner; at least one loop
  std::vector<std::vector<std::int64_t>> stride;  // [tensor][loop], in elements; 0 where the tensor broadcasts

  int loops() const { return static_cast<int>(size.size()); }
  std::int64_t count() const;
  // Offset in elements of one tensor where the loops [0, upto) stand at `position`, a row-major number over those
  // loops.
  std::int64_t offset(int tensor, std::int64_t position, int upto) const;
};

// tensors[0] sets the order and the block; the others broadcast to its dims (aligned on the right). False if a tensor
// cannot be walked along it: it has another block, or is plain over channels that do not fill the blocks.
bool makeLoopNest(const std::vector<TensorDesc>& tensors, LoopNest* nest);

// The tensor with axes of size 1 in front up to `rank`.
TensorDesc alignRank(const TensorDesc& desc, int rank);

// True if the tensor is dense and in one of the layouts that kernels write: row-major, channels-last or
// channel-blocked.
bool isDenseLayout(const TensorDesc& desc);

// The description of `dims` in the layout of `like`, for which isDenseLayout() must hold.
TensorDesc laidOutLike(const TensorDesc& like, DType dtype, const Dims& dims);

}  // namespace ipex_studio
