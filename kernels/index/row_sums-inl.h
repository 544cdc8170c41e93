// Sums of table rows, which stay in registers over all rows, once per Highway target.
#if defined(IPEX_KERNELS_ROW_SUMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_ROW_SUMS_INL_H
#undef IPEX_KERNELS_ROW_SUMS_INL_H
#else
#define IPEX_KERNELS_ROW_SUMS_INL_H
#endif

#include <hwy/cache_control.h>

#include "kernels/common/simd-inl.h"
#include "kernels/index/row_addends.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Adds rows to `kVectors` vectors of sums from column `begin` on. Fetching goes along with adding row by row: as many
// lines at once as all rows have would wait for each other.
template <int kVectors>
HWY_INLINE void addToColumns(const RowAddends<float>& addends, std::int64_t begin, float* sums, bool fresh) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  VF sum[kVectors];
  for (int v = 0; v < kVectors; ++v) sum[v] = fresh ? hn::Zero(d) : hn::LoadU(d, sums + begin + v * lanes);
  for (std::int64_t r = 0; r < addends.count; ++r) {
    if (addends.upcoming != nullptr) {
      constexpr std::int64_t kLine = 16;  // floats
      for (std::int64_t e = 0; e < kVectors * lanes; e += kLine) hwy::Prefetch(addends.upcoming[r] + begin + e);
    }
    const float* const row = addends.rows[r] + begin;
    if (addends.factors == nullptr) {
      for (int v = 0; v < kVectors; ++v) sum[v] = hn::Add(sum[v], hn::LoadU(d, row + v * lanes));
    } else {
      const VF factor = hn::Set(d, addends.factors[r]);
      for (int v = 0; v < kVectors; ++v) sum[v] = hn::MulAdd(factor, hn::LoadU(d, row + v * lanes), sum[v]);
    }
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[v], d, sums + begin + v * lanes);
}

// sums[e] += Σ factors[r]·rows[r][e], row by row. `fresh`: sums begin at zero.
HWY_INLINE void addRowsOf(const RowAddends<float>& addends, std::int64_t width, float* sums, bool fresh) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(F32()));
  std::int64_t begin = 0;
  for (; begin + 8 * lanes <= width; begin += 8 * lanes) addToColumns<8>(addends, begin, sums, fresh);
  for (; begin + lanes <= width; begin += lanes) addToColumns<1>(addends, begin, sums, fresh);
  for (; begin < width; ++begin) {
    if (fresh) sums[begin] = 0;
    for (std::int64_t r = 0; r < addends.count; ++r) {
      sums[begin] += (addends.factors == nullptr ? 1.0f : addends.factors[r]) * addends.rows[r][begin];
    }
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
