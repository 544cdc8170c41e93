// Single operations of pointwise chains over values side by side, for the tiles of other kernels.
#pragma once

#include <cstddef>
#include <string>

#include "core/plan/op_spec.h"

namespace ipex_studio {

// out[i] = op(in[i]); out may be in.
using PointwiseUnary = void (*)(const PostOp& op, const float* in, float* out, std::size_t count);
// out[i] = op(in[i], other[i]); out may be in or other.
using PointwiseBinary = void (*)(const PostOp& op, const float* in, const float* other, float* out, std::size_t count);

// The same over `rows` rows of `count` values; strides in values.
struct PointwiseRows {
  const float* in = nullptr;
  std::ptrdiff_t in_stride = 0;
  const float* other = nullptr;  // of binary operations
  std::ptrdiff_t other_stride = 0;
  float* out = nullptr;
  std::ptrdiff_t out_stride = 0;
  std::size_t rows = 1, count = 0;
};
using PointwiseRowsRun = void (*)(const PostOp& op, const PointwiseRows& rows);

// For the best instruction set that `isa` allows.
PointwiseUnary pointwiseUnary(const std::string& isa);
PointwiseBinary pointwiseBinary(const std::string& isa);
PointwiseRowsRun pointwiseRows(const std::string& isa);

}  // namespace ipex_studio
