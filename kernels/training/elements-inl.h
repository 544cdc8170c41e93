// Vectors of floats from and to memory that holds FP32 or BF16, once per Highway target.
#if defined(IPEX_KERNELS_TRAINING_ELEMENTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_TRAINING_ELEMENTS_INL_H
#undef IPEX_KERNELS_TRAINING_ELEMENTS_INL_H
#else
#define IPEX_KERNELS_TRAINING_ELEMENTS_INL_H
#endif

#include <cstdint>
#include <cstring>

#include "kernels/common/bf16-inl.h"
#include "kernels/common/partial_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

HWY_INLINE bool isWholeVector(std::int64_t lanes) { return lanes == static_cast<std::int64_t>(hn::Lanes(F32())); }

// The first `lanes` elements, zeros after them; reads nothing beyond.
HWY_INLINE VF loadElements(const float* from, std::int64_t lanes) {
  return isWholeVector(lanes) ? hn::LoadU(F32(), from) : loadFirst(from, lanes);
}

HWY_INLINE VF loadElements(const Bf16* from, std::int64_t lanes) {
  const auto* const bits = reinterpret_cast<const std::uint16_t*>(from);
  return isWholeVector(lanes) ? loadFloats(F32(), bits) : loadFirstFloats(bits, lanes);
}

// Writes nothing beyond the first `lanes` elements; BF16 is rounded to nearest even.
HWY_INLINE void storeElements(VF v, float* to, std::int64_t lanes) {
  isWholeVector(lanes) ? hn::StoreU(v, F32(), to) : storeFirst(v, to, lanes);
}

HWY_INLINE void storeElements(VF v, Bf16* to, std::int64_t lanes) {
  const F32 d;
  if (isWholeVector(lanes)) return storeBf16(d, v, reinterpret_cast<std::uint16_t*>(to));
  std::uint16_t part[hn::MaxLanes(d)];
  storeBf16(d, v, part);
  std::memcpy(to, part, static_cast<std::size_t>(lanes) * sizeof(*part));
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
