// Sums of table rows per bag where all ids and offsets are known to fit, once per Highway target: ids are read where
// they lie, and a bag's sums stay in registers over all its rows.
#if defined(IPEX_KERNELS_BAG_SUMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_BAG_SUMS_INL_H
#undef IPEX_KERNELS_BAG_SUMS_INL_H
#else
#define IPEX_KERNELS_BAG_SUMS_INL_H
#endif

#include <hwy/cache_control.h>

#include <algorithm>

#include "kernels/common/partial_vector-inl.h"
#include "kernels/index/embedding_bag_job.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// The rows of one bag: those of ids [begin, end).
template <class Index>
struct BagRows {
  const float* table;
  std::int64_t width;
  const Index* ids;
  std::int64_t begin, end, last;  // the last id of all bags
};

// Sums columns [column, column + kVectors · lanes) of the rows, or `columns` of them if those are fewer than one
// vector. A table is far larger than the caches, so rows that are read soon are fetched.
template <int kVectors, class Index>
HWY_INLINE void sumColumns(const BagRows<Index>& rows, std::int64_t column, std::int64_t columns, float divisor,
                           float* sums) {
  constexpr std::int64_t kLine = 16;  // floats
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const bool whole = columns >= kVectors * lanes;
  VF sum[kVectors];
  for (int v = 0; v < kVectors; ++v) sum[v] = hn::Zero(d);
  for (std::int64_t i = rows.begin; i < rows.end; ++i) {
    const float* const later = rows.table + rows.ids[std::min(i + kBagIdsAhead, rows.last)] * rows.width + column;
    for (std::int64_t e = 0; e < kVectors * lanes; e += kLine) hwy::Prefetch(later + e);
    const float* const row = rows.table + rows.ids[i] * rows.width + column;
    if (whole) {
      for (int v = 0; v < kVectors; ++v) sum[v] = hn::Add(sum[v], hn::LoadU(d, row + v * lanes));
    } else {
      sum[0] = hn::Add(sum[0], loadFirst(row, columns));
    }
  }
  if (divisor > 1) {
    for (int v = 0; v < kVectors; ++v) sum[v] = hn::Div(sum[v], hn::Set(d, divisor));
  }
  if (whole) {
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[v], d, sums + column + v * lanes);
  } else {
    storeFirst(sum[0], sums + column, columns);
  }
}

template <class Index>
HWY_INLINE void sumRows(const BagRows<Index>& rows, float divisor, float* sums) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(F32()));
  for (std::int64_t column = 0; column < rows.width;) {
    const std::int64_t left = rows.width - column;
    if (left >= 8 * lanes) {
      sumColumns<8>(rows, column, left, divisor, sums);
      column += 8 * lanes;
    } else if (left >= 4 * lanes) {
      sumColumns<4>(rows, column, left, divisor, sums);
      column += 4 * lanes;
    } else if (left >= 2 * lanes) {
      sumColumns<2>(rows, column, left, divisor, sums);
      column += 2 * lanes;
    } else {
      sumColumns<1>(rows, column, left, divisor, sums);
      column += lanes;
    }
  }
}

template <class Index>
HWY_INLINE void sumBagsOf(const EmbeddingBagJob& job, const Index* ids, const Index* offsets, const float* table,
                          float* y, std::int64_t begin, std::int64_t end) {
  for (std::int64_t bag = begin; bag < end; ++bag) {
    const std::int64_t next = bag + 1 < job.offsets ? offsets[bag + 1] : job.ids;
    const BagRows<Index> rows{table, job.width, ids, offsets[bag], next, job.ids - 1};
    sumRows(rows, job.mean ? static_cast<float>(next - rows.begin) : 1.0f, y + bag * job.width);
  }
}

// Computes bags [begin, end), for which bagsFit() is true. Empty bags give zeros.
HWY_INLINE void sumCheckedBags(const EmbeddingBagJob& job, const void* ids, const void* offsets, const float* table,
                               float* y, std::int64_t begin, std::int64_t end) {
  if (job.index_type == DType::kS64) {
    using Index = std::int64_t;
    sumBagsOf(job, static_cast<const Index*>(ids), static_cast<const Index*>(offsets), table, y, begin, end);
  } else {
    using Index = std::int32_t;
    sumBagsOf(job, static_cast<const Index*>(ids), static_cast<const Index*>(offsets), table, y, begin, end);
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
