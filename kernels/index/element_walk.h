// The walk through an index tensor and through the two tensors beside it, for gathering and scattering of elements.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/op/op_spec.h"
#include "core/op/tensor_view.h"

namespace ipex_studio {

// For each position of the index: the element of the small tensor (of the index's sizes) at that position, and the one
// of the large tensor whose place along the axis the index says. Neighbouring loops that run through memory as one are
// merged.
struct ElementWalk {
  Dims dims;                               // loops over positions, outer to inner, at least one; the last is a line
  Dims index, large, small;                // strides in elements per loop; of `large` 0 along the axis
  std::int64_t axis_stride = 0, rows = 0;  // of the large tensor along the axis
  std::int64_t run = 1;                    // elements that lie side by side at each position, and share its index

  int last() const { return dims.rank - 1; }
  // True if the loop does not go along the axis, so that its turns write different elements of the large tensor.
  bool isApart(int loop) const { return large[loop] != 0; }
};

// `index`: of the rank of the others, or of one dimension, which is then along the axis and the same for all others.
ElementWalk elementWalk(const TensorDesc& large, const TensorDesc& index, const TensorDesc& small, int axis);

// True if all elements lie in one place, as those of an expanded scalar do. Scattering begins from that value then, and
// nobody has to write it out.
bool isOneValue(const TensorDesc& desc);

// Writes what scattering begins from, unless it is there already.
template <typename Value>
void writeBase(const TensorDesc& desc, const Value* base, Value* to) {
  if (isOneValue(desc)) {
    std::fill_n(to, desc.dims.count(), *base);
  } else if (base != to) {
    std::copy_n(base, desc.dims.count(), to);
  }
}

// How threads share a walk that writes to the large tensor: each takes a part of a loop along which no two turns write
// the same element, or of the runs.
struct WalkSplit {
  int loop = -1;  // -1: the runs
  std::int64_t size = 1;
};
WalkSplit splitWalk(const ElementWalk& walk, std::int64_t threads);

// Distances in elements.
struct WalkOffsets {
  std::int64_t index = 0, large = 0, small = 0;
};
// The part [begin, end) of a split walk, and where it begins.
ElementWalk partOfWalk(const ElementWalk& walk, const WalkSplit& split, std::int64_t begin, std::int64_t end,
                       WalkOffsets* offsets);

// Calls fn(offsets, count) for the parts of lines that positions [begin, end) consist of.
template <typename Fn>
void forLines(const ElementWalk& walk, std::int64_t begin, std::int64_t end, const Fn& fn) {
  if (begin >= end) return;
  const int last = walk.last();
  Dims at;
  WalkOffsets line;
  std::int64_t rest = begin / walk.dims[last], first = begin % walk.dims[last];
  for (int a = last - 1; a >= 0; --a) {
    at[a] = rest % walk.dims[a];
    rest /= walk.dims[a];
    line.index += at[a] * walk.index[a];
    line.large += at[a] * walk.large[a];
    line.small += at[a] * walk.small[a];
  }
  for (std::int64_t position = begin; position < end;) {
    const std::int64_t count = std::min(walk.dims[last] - first, end - position);
    fn(WalkOffsets{line.index + first * walk.index[last], line.large + first * walk.large[last],
                   line.small + first * walk.small[last]},
       count);
    position += count;
    first = 0;
    for (int a = last - 1; a >= 0; --a) {
      line.index += walk.index[a];
      line.large += walk.large[a];
      line.small += walk.small[a];
      if (++at[a] < walk.dims[a]) break;
      at[a] = 0;
      line.index -= walk.dims[a] * walk.index[a];
      line.large -= walk.dims[a] * walk.large[a];
      line.small -= walk.dims[a] * walk.small[a];
    }
  }
}

}  // namespace ipex_studio
