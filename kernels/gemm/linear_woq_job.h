// Rows of FP32 times rows of weights of 8 or 4 bits: what linear_woq_simd.cpp hands to the code of one instruction set.
#pragma once

#include <cstdint>

#include "core/op/woq_weights.h"

namespace ipex_studio {

// y[r, n] = Σ x[r, k] · w[n, k] · scale[n, k / group] + bias[n]. y is dense, bias may be null.
struct WoqJob {
  std::int64_t rows = 0, columns = 0, depth = 0;
  std::int64_t x_stride = 0;             // from row to row; zeros fill each up to a multiple of kNibbleBlock
  std::int64_t w_stride = 0;             // bytes from row to row
  const NibbleLevels* levels = nullptr;  // of weights in 4 bits; null: 8 bits
  std::int64_t group = 0, groups = 0;    // weights that share a scale, scales per row; 0: no scales
  std::int64_t tile_columns = 0;         // rows of weights that are upconverted together; 0: none are
};

struct WoqCall {
  const float* x = nullptr;
  const void* weights = nullptr;
  const float* scales = nullptr;
  const float* bias = nullptr;
  float* y = nullptr;
};

}  // namespace ipex_studio
