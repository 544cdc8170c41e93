// Single operations of pointwise chains over values side by side, for the tiles of other kernels.
#pragma once

#include <cstddef>
#include <string>

#include "core/op/op_spec.h"

namespace ipex_studio {

// Rows of `count` values; strides in values. out[i] = op(in[i]), or op(in[i], other[i]) of binary operations; out may
// be in or other.
struct PointwiseRows {
  const float* in = nullptr;
  std::ptrdiff_t in_stride = 0;
  const float* other = nullptr;  // of binary operations
  std::ptrdiff_t other_stride = 0;
  float* out = nullptr;
  std::ptrdiff_t out_stride = 0;
  std::size_t rows = 1, count = 0;
};
using PointwiseApply = void (*)(const PostOp& op, const PointwiseRows& rows);

// The code for the best instruction set that `isa` allows.
PointwiseApply pointwiseApply(const std::string& isa);

}  // namespace ipex_studio
