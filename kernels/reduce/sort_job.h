// The order of values along an axis: what sort_simd.cpp hands to the code of one instruction set.
#pragma once

#include <cstdint>

namespace ipex_studio {

// x[outer][size][inner], values and places [outer][k][inner].
struct SortJob {
  bool descending = false;
  std::int64_t size = 0, inner = 1, k = 0;
};

// Number of keys of working memory for one line: twice its values, as a radix sort moves keys from one buffer to the
// other.
inline std::int64_t sortKeys(const SortJob& job) { return 2 * job.size; }

}  // namespace ipex_studio
