// The order of values along an axis: what sort_simd.cpp hands to the code of one instruction set.
#pragma once

#include <cstdint>

#include "kernels/reduce/topk_order.h"

namespace ipex_studio {

// x[outer][size][inner], values and places [outer][k][inner].
struct SortJob {
  bool descending = false;
  Ties ties = Ties::kInOrder;
  std::int64_t size = 0, inner = 1, k = 0;
};

// Number of keys of working memory for one line: twice its values, as a radix sort moves keys from one buffer to the
// other. A pair of orderAs() takes no more.
inline std::int64_t sortKeys(const SortJob& job) { return 2 * job.size; }
static_assert(sizeof(Placed<float>) == 2 * sizeof(std::uint64_t));

}  // namespace ipex_studio
