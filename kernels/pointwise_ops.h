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

// For the best instruction set that `isa` allows.
PointwiseUnary pointwiseUnary(const std::string& isa);
PointwiseBinary pointwiseBinary(const std::string& isa);

}  // namespace ipex_studio
