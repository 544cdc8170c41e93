// Attention as numbers: what its kernel hands to the code of one instruction set.
#pragma once

#include "kernels/loop_nest.h"

namespace ipex_studio {

// A matrix inside a tensor: distances of its rows and columns, in elements.
struct MatrixStrides {
  std::int64_t row = 0, column = 0;
};

struct AttentionJob {
  LoopNest heads;  // all batch dimensions; tensors: 0 is y, 1 q, 2 k, 3 v, 4 the mask (when has_mask)
  std::int64_t queries = 0, keys = 0;
  std::int64_t depth = 0;  // of q and k
  std::int64_t width = 0;  // of v and y
  MatrixStrides y, q, k, v;
  bool has_mask = false;
  MatrixStrides mask;  // row: along queries, 0 where it is the same for all; column: along keys
  // The mask is added, or scores where it is not zero (fill) or zero (keep) become mask_value.
  enum class MaskUse { kAdd, kFill, kKeep } mask_use = MaskUse::kAdd;
  float mask_value = 0;
  bool causal = false;
  float scale = 1;

  std::int64_t query_vectors = 1;  // vectors of queries in all
  std::int64_t blocks = 1;         // parts they are cut into, of nearly equal size
  std::int64_t key_block = 1;      // keys at once
};

struct AttentionOperands {
  const float *q, *k, *v, *mask;
  float* y;
};

}  // namespace ipex_studio
