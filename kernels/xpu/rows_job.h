// Rows of tensors of one shape as rows.cl walks them.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/loop_nest.h"
#include "kernels/xpu/image_xpu.h"

namespace ipex_studio {

struct RowsJob {
  static constexpr int kMaxLoops = 6, kMaxTensors = 4;  // the first tensor is the result
  std::int32_t rows = 0, size = 0, loops = 0;           // size: elements of a row
  std::int32_t step[kMaxTensors] = {1, 1, 0, 0};        // distance of elements
  std::int32_t row_size[kMaxLoops] = {}, stride[kMaxTensors][kMaxLoops] = {};
};

// Sets how the rows of the tensors are walked, whose axis of elements has size 1. False if they lie too differently.
inline bool setRows(const std::vector<TensorDesc>& tensors, RowsJob* job) {
  LoopNest nest;
  if (!makeLoopNest(tensors, &nest) || nest.loops() > RowsJob::kMaxLoops) return false;
  job->rows = narrowed(nest.count());
  job->loops = nest.loops();
  for (int loop = 0; loop < nest.loops(); ++loop) {
    const auto l = static_cast<std::size_t>(loop);
    job->row_size[loop] = narrowed(nest.size[l]);
    for (std::size_t t = 0; t < tensors.size(); ++t) job->stride[t][loop] = narrowed(nest.stride[t][l]);
  }
  return true;
}

}  // namespace ipex_studio
