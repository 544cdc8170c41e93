// binary16 to float and back, vector-wise where the instruction set has F16C, once per Highway target. The same bits as
// f16.h gives: Highway's own emulation cuts where it should round.
#if defined(IPEX_KERNELS_F16_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_F16_INL_H
#undef IPEX_KERNELS_F16_INL_H
#else
#define IPEX_KERNELS_F16_INL_H
#endif

#include <cstdint>

#include "kernels/common/f16.h"
#include "kernels/common/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Upconverts `count` elements; `from` and `to` do not overlap.
inline void upconvertF16(const std::uint16_t* from, float* to, std::size_t count) {
  std::size_t i = 0;
#if HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> df16;
  const hn::Rebind<std::uint16_t, decltype(d)> du16;
  const std::size_t lanes = hn::Lanes(d);
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::PromoteTo(d, hn::BitCast(df16, hn::LoadU(du16, from + i))), d, to + i);
#endif
  for (; i < count; ++i) to[i] = f16ToFloat(from[i]);
}

inline void downconvertToF16(const float* from, std::uint16_t* to, std::size_t count) {
  std::size_t i = 0;
#if HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> df16;
  const hn::Rebind<std::uint16_t, decltype(d)> du16;
  const std::size_t lanes = hn::Lanes(d);
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::BitCast(du16, hn::DemoteTo(df16, hn::LoadU(d, from + i))), du16, to + i);
#endif
  for (; i < count; ++i) to[i] = floatToF16(from[i]);
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
