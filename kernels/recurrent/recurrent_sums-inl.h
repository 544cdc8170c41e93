// Products of a few rows with packed weights, once per Highway target.
#if defined(IPEX_KERNELS_RECURRENT_SUMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_RECURRENT_SUMS_INL_H
#undef IPEX_KERNELS_RECURRENT_SUMS_INL_H
#else
#define IPEX_KERNELS_RECURRENT_SUMS_INL_H
#endif

#include <cstdint>

#include "kernels/common/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// sum[r][v] = Σ_k rows[r · row_stride + k] · weights[k][v], of vectors; kSplit independent sums, since few rows alone
// leave the multipliers idle.
template <int kVectors, int kRows, int kSplit>
HWY_INLINE void sumProducts(const float* weights, std::int64_t depth, const float* rows, std::int64_t row_stride,
                            VF (&sum)[kRows][kVectors]) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  VF sums[kSplit][kRows][kVectors];
  for (int s = 0; s < kSplit; ++s) {
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) sums[s][r][v] = hn::Zero(d);
    }
  }
  std::int64_t k = 0;
  const auto multiply = [&](std::int64_t at, int s) HWY_ATTR {
    for (int v = 0; v < kVectors; ++v) {
      const VF w = hn::Load(d, weights + (at * kVectors + v) * lanes);
      for (int r = 0; r < kRows; ++r)
        sums[s][r][v] = hn::MulAdd(hn::Set(d, rows[r * row_stride + at]), w, sums[s][r][v]);
    }
  };
  for (; k + kSplit <= depth; k += kSplit) {
    for (int s = 0; s < kSplit; ++s) multiply(k + s, s);
  }
  for (; k < depth; ++k) multiply(k, 0);
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      sum[r][v] = sums[0][r][v];
      for (int s = 1; s < kSplit; ++s) sum[r][v] = hn::Add(sum[r][v], sums[s][r][v]);
    }
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
