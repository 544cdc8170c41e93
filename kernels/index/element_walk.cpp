// Makes the loops of an element walk, and splits them among threads.
#include "kernels/index/element_walk.h"

namespace ipex_studio {
namespace {

// Runs are split in pieces of so many elements, which are a vector or more.
constexpr std::int64_t kRunPiece = 16;

// An index of one dimension, expanded along all other axes of `small`.
TensorDesc spreadIndex(const TensorDesc& index, const TensorDesc& small, int axis) {
  if (index.dims.rank == small.dims.rank) return index;
  TensorDesc spread = index;
  spread.dims = spread.strides = small.dims;
  for (int a = 0; a < small.dims.rank; ++a) spread.strides[a] = a == axis ? index.strides[0] : 0;
  return spread;
}

void setRank(ElementWalk& walk, int rank) {
  walk.dims.rank = walk.index.rank = walk.large.rank = walk.small.rank = rank;
}

void removeLoop(ElementWalk& walk, int loop) {
  for (Dims* each : {&walk.dims, &walk.index, &walk.large, &walk.small}) {
    for (int a = loop; a + 1 < each->rank; ++a) (*each)[a] = (*each)[a + 1];
  }
  setRank(walk, walk.dims.rank - 1);
}

bool runsOn(const ElementWalk& walk, int loop) {
  const auto joins = [&](const Dims& strides) { return strides[loop] == strides[loop + 1] * walk.dims[loop + 1]; };
  return joins(walk.index) && joins(walk.large) && joins(walk.small);
}

}  // namespace

ElementWalk elementWalk(const TensorDesc& large, const TensorDesc& given, const TensorDesc& small, int axis) {
  const TensorDesc index = spreadIndex(given, small, axis);
  ElementWalk walk{index.dims, index.strides, large.strides, small.strides};
  walk.axis_stride = large.strides[axis];
  walk.rows = large.dims[axis];
  walk.large[axis] = 0;
  // Trailing axes along which the index stays the same and both others lie side by side.
  while (walk.last() > axis) {
    const int last = walk.last();
    const bool one = walk.dims[last] == 1;
    if (!one && (walk.index[last] != 0 || walk.large[last] != walk.run || walk.small[last] != walk.run)) break;
    walk.run *= walk.dims[last];
    setRank(walk, last);
  }
  if (walk.run == 0) walk.dims[0] = 0;
  for (int loop = walk.last(); loop >= 0 && walk.dims.rank > 1; --loop) {
    if (walk.dims[loop] == 1) removeLoop(walk, loop);
  }
  for (int loop = walk.last() - 1; loop >= 0; --loop) {
    if (!runsOn(walk, loop)) continue;
    walk.dims[loop + 1] *= walk.dims[loop];
    removeLoop(walk, loop);
  }
  return walk;
}

bool isOneValue(const TensorDesc& desc) {
  if (desc.block != 0 || desc.dims.count() < 2) return false;
  for (int axis = 0; axis < desc.dims.rank; ++axis) {
    if (desc.dims[axis] > 1 && desc.strides[axis] != 0) return false;
  }
  return true;
}

WalkSplit splitWalk(const ElementWalk& walk, std::int64_t threads) {
  WalkSplit split{-1, (walk.run + kRunPiece - 1) / kRunPiece};
  for (int loop = walk.last(); loop >= 0; --loop) {
    if (walk.isApart(loop) && (walk.dims[loop] >= threads || walk.dims[loop] > split.size))
      split = {loop, walk.dims[loop]};
  }
  return split;
}

ElementWalk partOfWalk(const ElementWalk& walk, const WalkSplit& split, std::int64_t begin, std::int64_t end,
                       WalkOffsets* offsets) {
  ElementWalk part = walk;
  if (split.loop >= 0) {
    part.dims[split.loop] = end - begin;
    *offsets = {begin * walk.index[split.loop], begin * walk.large[split.loop], begin * walk.small[split.loop]};
  } else {
    const std::int64_t first = begin * kRunPiece;
    part.run = std::min(end * kRunPiece, walk.run) - first;
    *offsets = {0, first, first};
  }
  return part;
}

}  // namespace ipex_studio
