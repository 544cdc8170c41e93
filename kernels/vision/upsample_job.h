// Resampling as taps per axis: what upsample_simd.cpp hands to the code of one instruction set.
#pragma once

#include <cstdint>
#include <vector>

namespace ipex_studio {

// The taps of one axis: for each result index, `count` consecutive source indices and weights.
struct AxisTaps {
  int count = 1;
  std::vector<std::int64_t> index;
  std::vector<float> weight;
};

// Images as [planes, H, W, inner]: inner is C for channels-last, the block for blocked, 1 for row-major.
struct UpsampleJob {
  AxisTaps rows, columns;
  std::int64_t in_height = 1, in_width = 1, out_height = 1, out_width = 1, inner = 1;
};

}  // namespace ipex_studio
