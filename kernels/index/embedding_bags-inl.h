// The walk over bags of table rows that sums of rows of every format share, once per Highway target.
#if defined(IPEX_KERNELS_EMBEDDING_BAGS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_EMBEDDING_BAGS_INL_H
#undef IPEX_KERNELS_EMBEDDING_BAGS_INL_H
#else
#define IPEX_KERNELS_EMBEDDING_BAGS_INL_H
#endif

#include <hwy/cache_control.h>

#include <algorithm>

#include "kernels/common/index_rows.h"
#include "kernels/common/simd-inl.h"
#include "kernels/index/embedding_bag_job.h"
#include "kernels/index/row_addends.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// The row of `row_bytes` bytes that id `i` names; null if there is none.
HWY_INLINE const char* rowOf(const EmbeddingBagJob& job, const void* ids, const void* table, std::int64_t row_bytes,
                             std::int64_t i) {
  const std::int64_t row = indexAt(ids, job.index_type, i);
  return row < 0 || row >= job.rows ? nullptr : static_cast<const char*>(table) + row * row_bytes;
}

// Prefetches a row: rows lie anywhere in a table far larger than the caches.
HWY_INLINE void fetchRow(const EmbeddingBagJob& job, const void* ids, const void* table, std::int64_t row_bytes,
                         std::int64_t i) {
  const char* const row = i < job.ids ? rowOf(job, ids, table, row_bytes, i) : nullptr;
  if (row == nullptr) return;
  constexpr std::int64_t kLine = 64;
  for (std::int64_t byte = 0; byte < row_bytes; byte += kLine) hwy::Prefetch(row + byte);
  hwy::Prefetch(row + row_bytes - 1);
}

HWY_INLINE void markInvalid(const EmbeddingBagJob& job, float* row) {
  fillInvalid(DType::kF32, row, job.width * static_cast<std::int64_t>(sizeof(float)));
}

// Calls add(addends, sums, fresh) for the rows of each of the bags [begin, end), a few at a time, then
// finish(sums, rows). False if an index was out of range.
template <class Row, class Add, class Finish>
HWY_INLINE bool sumBags(const EmbeddingBagJob& job, const void* ids, const void* offsets, const Row* table,
                        std::int64_t row_width, float* y, std::int64_t begin, std::int64_t end, const Add& add,
                        const Finish& finish) {
  constexpr std::int64_t kTogether = 16;  // rows
  const Row *rows[kTogether], *upcoming[kTogether];
  bool valid = true;
  const auto offset = [&](std::int64_t bag) {
    const std::int64_t at = bag < job.offsets ? indexAt(offsets, job.index_type, bag) : job.ids;
    return std::clamp<std::int64_t>(at, 0, job.ids);
  };
  const auto rowAt = [&](std::int64_t i) -> const Row* {
    const std::int64_t row = indexAt(ids, job.index_type, i);
    return row < 0 || row >= job.rows ? nullptr : table + row * row_width;
  };
  for (std::int64_t bag = begin; bag < end; ++bag) {
    float* const sums = y + bag * job.width;
    const std::int64_t first = offset(bag), last = std::max(first, offset(bag + 1));
    RowAddends<Row> addends{rows, 0, upcoming};
    bool fresh = true;  // nothing is added up yet
    bool bag_valid = true;
    for (std::int64_t i = first; i < last; ++i) {
      const Row* const row = rowAt(i);
      if (row == nullptr) {
        bag_valid = false;
        continue;
      }
      const Row* const later = i + kBagIdsAhead < job.ids ? rowAt(i + kBagIdsAhead) : nullptr;
      rows[addends.count] = row;
      upcoming[addends.count] = later == nullptr ? row : later;
      if (++addends.count == kTogether) {
        add(addends, sums, fresh);
        addends.count = 0;
        fresh = false;
      }
    }
    if (addends.count > 0 || fresh) add(addends, sums, fresh);
    finish(sums, last - first);
    if (bag_valid) continue;
    markInvalid(job, sums);
    valid = false;
  }
  return valid;
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
