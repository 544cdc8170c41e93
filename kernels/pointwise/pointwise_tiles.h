// A pointwise chain made ready to run tile by tile: what pointwise_simd.cpp hands to the code of one instruction set.
#pragma once

#include <vector>

#include "core/op/op_spec.h"
#include "kernels/common/loop_nest.h"

namespace ipex_studio {

// Floats in one tile: with its operands it stays in the first-level cache.
constexpr std::int64_t kPointwiseTile = 1024;

// Tensor 0 of the nest is dst (dense), tensor 1 is x, tensor 2 + k is post operand k. The two innermost loops form a
// plane that is cut into tiles: pieces of one row where rows are long, several rows where they are short.
struct PointwiseJob {
  std::vector<PostOp> ops;
  std::vector<DType> dtypes;  // per tensor: f32, bf16, f16, u8 or s8
  bool scales_last = false;   // the last operation, factor · v + offset, is done while the result is rounded to bytes
  float factor = 1, offset = 0;
  // The chain is one product of bytes, behind at most a factor and an offset of their own, and rounded to bytes: the
  // form of gates between quantized layers.
  bool multiplies_bytes = false;
  float first_factor = 1, first_offset = 0;
  LoopNest nest;
  int outer_loops = 0;
  std::int64_t rows = 1, inner = 1;  // the plane
  std::int64_t tile_rows = 1, tile_inner = 1;
  std::int64_t row_tiles = 1, inner_tiles = 1;
  std::int64_t tiles = 0;  // in all

  int tensors() const { return static_cast<int>(nest.stride.size()); }
  // Floats of working memory that one thread needs.
  std::int64_t scratchFloats() const { return tensors() * kPointwiseTile; }
};

using PointwiseRun = void (*)(const PointwiseJob& job, const void* const* tensors, void* dst, float* scratch,
                              std::int64_t begin, std::int64_t end);

}  // namespace ipex_studio
