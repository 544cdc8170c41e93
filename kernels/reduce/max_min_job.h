// Extremes along an axis: what max_min_simd.cpp hands to the code of one instruction set.
#pragma once

#include <cstdint>

namespace ipex_studio {

// x[outer][size][inner], values and places [outer][inner].
struct MaxMinJob {
  bool greatest = true;
  std::int64_t size = 0, inner = 1;
  std::int64_t pieces = 1;  // of a row of `inner` lines
  std::int64_t piece_width = 1;
};

}  // namespace ipex_studio
