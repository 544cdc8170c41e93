// The order of values along an axis: what sort_simd.cpp hands to the code of one instruction set.
#pragma once

#include <cstdint>

namespace ipex_studio {

// x[outer][size][inner], values and places [outer][k][inner].
struct SortJob {
  bool descending = false;
  std::int64_t size = 0, inner = 1, k = 0;
};

// Room for keys of one line: those of all its values twice, to go from one place to the other.
inline std::int64_t sortKeys(const SortJob& job) { return 2 * job.size; }

}  // namespace ipex_studio
