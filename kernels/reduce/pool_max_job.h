// Max pooling as windows per axis: what pool_max_simd.cpp hands to the code of one instruction set.
#pragma once

#include <cstdint>

#include "core/op/tensor_view.h"
#include "kernels/common/pool_axis.h"

namespace ipex_studio {

// Images as [planes, D, H, W, inner]: inner is C for channels-last, the block for blocked, 1 for row-major.
struct PoolMaxJob {
  DType dtype = DType::kF32;
  AxisWindows slices = AxisWindows::single(), rows = AxisWindows::single(), columns;
  std::int64_t column_taps = 1;  // of a window that no end of the line cuts short
  bool apart = false;            // windows share too few columns for joined lines to pay: each is read on its own
  std::int64_t in_depth = 1, in_height = 1, in_width = 1, out_depth = 1, out_height = 1, out_width = 1, inner = 1;

  std::int64_t lineElements() const { return in_width * inner; }
};

}  // namespace ipex_studio
