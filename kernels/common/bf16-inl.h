// bfloat16 to float and back, vector-wise, and products of pairs, once per Highway target. Conversion to bfloat16
// rounds to nearest even and keeps NaN, as floatToBf16 of bf16.h does.
#if defined(IPEX_KERNELS_BF16_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_BF16_INL_H
#undef IPEX_KERNELS_BF16_INL_H
#else
#define IPEX_KERNELS_BF16_INL_H
#endif

#include <cstdint>
#include <cstring>

#include "kernels/common/bf16.h"
#include "kernels/common/partial_vector-inl.h"
#include "kernels/common/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// A vector of numbers that are floats or bf16, as floats.
template <class D>
HWY_INLINE hn::Vec<D> loadFloats(D d, const float* from) {
  return hn::LoadU(d, from);
}
template <class D>
HWY_INLINE hn::Vec<D> loadFloats(D d, const std::uint16_t* from) {
  const hn::RebindToUnsigned<D> du32;
  const hn::Rebind<std::uint16_t, D> du16;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du32, hn::LoadU(du16, from))));
}
inline float loadFloat(const float* from) { return *from; }
inline float loadFloat(const std::uint16_t* from) { return bf16ToFloat(*from); }

// The first `count` lanes (at most all), zeros after them; reads nothing beyond.
HWY_INLINE VF loadFirstFloats(const float* from, std::int64_t count) { return loadFirst(from, count); }
HWY_INLINE VF loadFirstFloats(const std::uint16_t* from, std::int64_t count) {
  std::uint16_t part[hn::MaxLanes(F32())] = {};
  std::memcpy(part, from, static_cast<std::size_t>(count) * sizeof(*part));
  return loadFloats(F32(), part);
}

// Upconverts `count` elements; `from` and `to` do not overlap.
HWY_INLINE void upconvertBf16(const std::uint16_t* from, float* to, std::size_t count) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(loadFloats(d, from + i), d, to + i);
  for (; i < count; ++i) to[i] = bf16ToFloat(from[i]);
}

// Stores a vector of floats as bf16.
template <class D>
HWY_INLINE void storeBf16(D d, hn::Vec<D> value, std::uint16_t* to) {
  const hn::RebindToUnsigned<D> du32;
  const hn::Rebind<std::uint16_t, D> du16;
  const auto bits = hn::BitCast(du32, value);
  const auto upper = hn::ShiftRight<16>(bits);
  const auto rounded =
      hn::ShiftRight<16>(hn::Add(bits, hn::Add(hn::Set(du32, 0x7fffu), hn::And(upper, hn::Set(du32, 1u)))));
  const auto result =
      hn::IfThenElse(hn::RebindMask(du32, hn::IsNaN(value)), hn::Or(upper, hn::Set(du32, 0x40u)), rounded);
  hn::StoreU(hn::DemoteTo(du16, hn::BitCast(hn::RebindToSigned<D>(), result)), du16, to);
}

// Likewise by vcvtneps2bf16 if kNative, which takes denormal numbers for 0: only where mayUseBf16Products() says so.
template <bool kNative, class D>
HWY_INLINE void storeNarrow(D d, hn::Vec<D> value, std::uint16_t* to) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if constexpr (kNative) {
    const hn::Rebind<std::uint16_t, D> halves;
    auto narrow = hn::Zero(halves);
    asm("vcvtneps2bf16 %1, %0" : "=v"(narrow.raw) : "v"(value.raw));
    return hn::StoreU(narrow, halves, to);
  }
#endif
  storeBf16(d, value, to);
}

// A vector of floats in the type that `to` has.
template <class D>
HWY_INLINE void storeFloats(D d, hn::Vec<D> value, float* to) {
  hn::StoreU(value, d, to);
}
template <class D>
HWY_INLINE void storeFloats(D d, hn::Vec<D> value, std::uint16_t* to) {
  storeBf16(d, value, to);
}
inline void storeFloat(float value, float* to) { *to = value; }
inline void storeFloat(float value, std::uint16_t* to) { *to = floatToBf16(value); }

HWY_INLINE void downconvertToBf16(const float* from, std::uint16_t* to, std::size_t count) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) storeBf16(d, hn::LoadU(d, from + i), to + i);
  for (; i < count; ++i) to[i] = floatToBf16(from[i]);
}

// The lower and the upper numbers of pairs of bf16 (VNNI-2), as floats.
template <class D>
HWY_INLINE hn::Vec<D> lowerOfPairs(D d, hn::Vec<hn::RebindToUnsigned<D>> pairs) {
  return hn::BitCast(d, hn::ShiftLeft<16>(pairs));
}
template <class D>
HWY_INLINE hn::Vec<D> upperOfPairs(D d, hn::Vec<hn::RebindToUnsigned<D>> pairs) {
  return hn::BitCast(d, hn::And(pairs, hn::Set(hn::RebindToUnsigned<D>(), 0xFFFF0000u)));
}

// sum + the two products of each pair, by vdpbf16ps: only where mayUseBf16Products() says so. Assembly, because
// machines may have the instruction without the features of a Highway target that has it.
template <class P, class V>
HWY_INLINE V addProductsOfPairs(P x, P w, V sum) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(x.raw), "v"(w.raw));
#endif
  return sum;
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
