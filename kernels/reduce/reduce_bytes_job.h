// Sums of rows of bytes: what reduce_bytes_simd.cpp hands to the code of one instruction set.
#pragma once

#include "kernels/common/loop_nest.h"

namespace ipex_studio {

// Sums, for each position of `kept`, of `rows` rows, row_stride bytes apart, of `inner` columns, which are shared in
// pieces. Tensor 0 is x, 1 is y.
struct ReduceBytesJob {
  DType source = DType::kU8, result = DType::kF32;
  LoopNest kept;
  std::int64_t rows = 1, row_stride = 0, inner = 1, piece_width = 1, pieces = 1;
  float factor = 1;  // of the result: 1/count for a mean
};

}  // namespace ipex_studio
