// A reduction as loops: what reduce_simd.cpp hands to the code of one instruction set.
#pragma once

#include "kernels/common/loop_nest.h"

namespace ipex_studio {

// Rows of kept values up to this width are summed in registers.
constexpr std::int64_t kReduceNarrow = 64;
// Wider rows are reduced in pieces of this width, whose results stay in the first-level cache.
constexpr std::int64_t kReduceWide = 4096;
// Runs of reduced values up to this length are reduced a run in each lane.
constexpr std::int64_t kReduceShort = 24;

enum class ReduceMode { kSum, kMax, kMin };

// Order of work: kept loops, then pieces of the innermost loop where that one is kept; for each, the reduced loops,
// then `rows` (the last reduced loop), then the innermost loop, which lies side by side in memory. Tensor 0 is x, 1 is
// y.
struct ReduceJob {
  ReduceMode mode = ReduceMode::kSum;
  LoopNest kept, reduced;
  std::int64_t outer_positions = 1;
  std::int64_t rows = 1, row_stride = 0;
  std::int64_t inner = 1;
  bool inner_reduced = false;
  std::int64_t piece_width = 1, pieces = 1;
  float factor = 1;  // of the result: 1/count for a mean
  // Of the innermost kept loop where the innermost loop is reduced.
  std::int64_t runs_beside = 1, run_x_step = 0, run_y_step = 0;
};

}  // namespace ipex_studio
