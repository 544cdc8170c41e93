// A few rows of x times all rows of w: what gemv_simd.cpp hands to the code of one instruction set.
#pragma once

#include <cstdint>

namespace ipex_studio {

// Rows of x that the code is generated for.
constexpr std::int64_t kGemvMaxRows = 4;

// y[r, n] = Σ x[r, k] · w[n, k] + bias[n]. x and w have unit stride along k, y is dense. bias may be null.
struct GemvJob {
  std::int64_t rows = 0, columns = 0, depth = 0;
  std::int64_t x_stride = 0, w_stride = 0;  // from row to row
};

using GemvRun = void (*)(const GemvJob& job, const float* x, const float* w, const float* bias, float* y,
                         std::int64_t begin, std::int64_t end);

}  // namespace ipex_studio
