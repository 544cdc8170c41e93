// Shares the rows of a sparse matrix among threads by their numbers of entries.
#pragma once

#include "kernels/common/parallel.h"
#include "kernels/index/neighbors.h"

namespace ipex_studio {

// Calls fn(begin, end) on disjoint ranges of rows that together are all of them. `ops_each`: scalar operations of an
// entry. A row without entries counts as one.
template <typename Fn>
void shareRows(const SparseRows& matrix, std::int64_t ops_each, std::int32_t threads, const Fn& fn) {
  // The first row before which lies so much work: row r begins at begins[r] + r.
  const auto rowAt = [&](std::int64_t work) {
    std::int64_t low = 0, high = matrix.rows;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (matrix.begins[middle] + middle < work) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  const std::int64_t all = matrix.rows == 0 ? 0 : matrix.entries() + matrix.rows;
  parallelFor(all, grainFor(ops_each), threads, [&](std::int64_t begin, std::int64_t end, int) {
    const std::int64_t first = rowAt(begin), last = end == all ? matrix.rows : rowAt(end);
    if (first < last) fn(first, last);
  });
}

}  // namespace ipex_studio
