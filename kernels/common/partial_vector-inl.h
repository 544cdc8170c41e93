// The end of a row that fills no vector, once per Highway target.
#if defined(IPEX_KERNELS_PARTIAL_VECTOR_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_PARTIAL_VECTOR_INL_H
#undef IPEX_KERNELS_PARTIAL_VECTOR_INL_H
#else
#define IPEX_KERNELS_PARTIAL_VECTOR_INL_H
#endif

#include <cstdint>
#include <cstring>

#include "kernels/common/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Loads the first `count` lanes (at most all) and zeros after them; reads nothing beyond.
HWY_INLINE hn::Vec<hn::ScalableTag<float>> loadFirst(const float* from, std::int64_t count) {
  const hn::ScalableTag<float> d;
#if HWY_TARGET <= HWY_AVX2
  return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(count)), d, from);
#else
  HWY_ALIGN float lanes[hn::MaxLanes(d)] = {};
  std::memcpy(lanes, from, static_cast<std::size_t>(count) * sizeof(float));
  return hn::Load(d, lanes);
#endif
}

// Stores the first `count` lanes; writes nothing beyond.
HWY_INLINE void storeFirst(hn::Vec<hn::ScalableTag<float>> v, float* to, std::int64_t count) {
  const hn::ScalableTag<float> d;
#if HWY_TARGET <= HWY_AVX2
  hn::BlendedStore(v, hn::FirstN(d, static_cast<std::size_t>(count)), d, to);
#else
  HWY_ALIGN float lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  std::memcpy(to, lanes, static_cast<std::size_t>(count) * sizeof(float));
#endif
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
