// The axes that a reduction (core/op/op_kinds.h) reduces, and the layout of its result beside its source.
#pragma once

#include <vector>

#include "core/op/op_spec.h"
#include "core/op/tensor_view.h"

namespace ipex_studio {

inline std::vector<bool> reducedAxes(const OpSpec& spec, int rank) {
  std::vector<bool> reduced(kMaxRank, false);
  for (const std::int64_t axis : spec.ints("axes")) reduced[wrappedAxis(axis, rank)] = true;
  return reduced;
}

// y with the rank of x: size 1 and stride 0 on reduced axes.
inline TensorDesc spreadResult(const TensorDesc& x, const TensorDesc& y, const std::vector<bool>& reduced,
                               bool keepdim) {
  TensorDesc spread = x;
  spread.block = y.block;
  int from = 0;
  for (int axis = 0; axis < x.dims.rank; ++axis) {
    spread.dims[axis] = reduced[axis] ? 1 : x.dims[axis];
    spread.strides[axis] = reduced[axis] ? 0 : y.strides[from];
    if (!reduced[axis] || keepdim) ++from;
  }
  return spread;
}

}  // namespace ipex_studio
