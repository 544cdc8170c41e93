// Values of f32, bf16, f16, u8 and s8 to and from floats, vector-wise, once per Highway target. Bytes are rounded to
// nearest even and saturated; NaN becomes the lowest number.
#if defined(IPEX_KERNELS_BYTE_CONVERT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_BYTE_CONVERT_INL_H
#undef IPEX_KERNELS_BYTE_CONVERT_INL_H
#else
#define IPEX_KERNELS_BYTE_CONVERT_INL_H
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/op/tensor_view.h"
#include "kernels/common/bf16-inl.h"
#include "kernels/common/f16-inl.h"
#include "kernels/common/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

template <class D, class T>
HWY_INLINE hn::Vec<D> loadBytes(D d, const T* from) {
  static_assert(sizeof(T) == 1, "bytes");
  const hn::RebindToSigned<D> di32;
  const hn::Rebind<T, D> bytes;
  return hn::ConvertTo(d, hn::PromoteTo(di32, hn::LoadU(bytes, from)));
}

// Rounds v within [-2^22, 2^22]: adding 1.5·2^23 leaves the rounded integer in the low bits.
template <class D>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> roundedBits(D d, hn::Vec<D> v) {
  return hn::BitCast(hn::RebindToUnsigned<D>(), hn::Add(v, hn::Set(d, 12582912.0f)));
}

template <class D, class T>
HWY_INLINE void storeRounded(D d, hn::Vec<D> v, T* to) {
  static_assert(sizeof(T) == 1, "bytes");
  const hn::Rebind<std::uint8_t, D> bytes;
  hn::StoreU(hn::TruncateTo(bytes, roundedBits(d, v)), bytes, reinterpret_cast<std::uint8_t*>(to));
}

// Clamps to the range of T. Max returns its second argument when one is NaN, so NaN becomes the lowest byte.
template <class T, class D>
HWY_INLINE hn::Vec<D> saturated(D d, hn::Vec<D> v) {
  constexpr float kLow = sizeof(T) == 1 && T(-1) < T(0) ? -128.0f : 0.0f;
  return hn::Min(hn::Max(v, hn::Set(d, kLow)), hn::Set(d, kLow + 255.0f));
}

template <class T>
HWY_INLINE T roundedByte(float v) {
  constexpr float kLow = T(-1) < T(0) ? -128.0f : 0.0f;
  return static_cast<T>(v > kLow ? std::nearbyint(std::min(v, kLow + 255.0f)) : kLow);
}

template <class T>
inline void upconvertBytes(const T* from, float* to, std::size_t count) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(loadBytes(d, from + i), d, to + i);
  for (; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

template <class T>
inline void downconvertToBytes(const float* from, T* to, std::size_t count) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) storeRounded(d, saturated<T>(d, hn::LoadU(d, from + i)), to + i);
  for (; i < count; ++i) to[i] = roundedByte<T>(from[i]);
}

// Stores factor · from + offset as bytes, which is how chains that quantize end.
template <class T>
inline void scaleToBytes(const float* from, float factor, float offset, T* to, std::size_t count) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto a = hn::Set(d, factor), b = hn::Set(d, offset);
  std::size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto first = hn::MulAdd(hn::LoadU(d, from + i), a, b),
               second = hn::MulAdd(hn::LoadU(d, from + i + lanes), a, b);
    storeRounded(d, saturated<T>(d, first), to + i);
    storeRounded(d, saturated<T>(d, second), to + i + lanes);
  }
  for (; i < count; ++i) to[i] = roundedByte<T>(hn::GetLane(hn::MulAdd(hn::Set(d, from[i]), a, b)));
}

// Stores ((from · before.factor + before.offset) · other) · after.factor + after.offset as bytes.
struct ByteScale {
  float factor = 1, offset = 0;
};
template <class From, class To>
inline void multiplyBytes(const From* from, ByteScale before, const float* other, ByteScale after, To* to,
                          std::size_t count) {
  const auto product = [&](auto d, auto v, auto o) HWY_ATTR {
    v = hn::Mul(hn::MulAdd(v, hn::Set(d, before.factor), hn::Set(d, before.offset)), o);
    return saturated<To>(d, hn::MulAdd(v, hn::Set(d, after.factor), hn::Set(d, after.offset)));
  };
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    storeRounded(d, product(d, loadBytes(d, from + i), hn::LoadU(d, other + i)), to + i);
  const hn::CappedTag<float, 1> one;
  for (; i < count; ++i) storeRounded(one, product(one, hn::Set(one, from[i]), hn::Set(one, other[i])), to + i);
}

// Converts `count` contiguous values of one of these dtypes to float.
inline void upconvertValues(DType dtype, const void* from, float* to, std::size_t count) {
  switch (dtype) {
    case DType::kU8:
      return upconvertBytes(static_cast<const std::uint8_t*>(from), to, count);
    case DType::kS8:
      return upconvertBytes(static_cast<const std::int8_t*>(from), to, count);
    case DType::kBf16:
      return upconvertBf16(static_cast<const std::uint16_t*>(from), to, count);
    case DType::kF16:
      return upconvertF16(static_cast<const std::uint16_t*>(from), to, count);
    default:
      std::memcpy(to, from, count * sizeof(float));
  }
}

inline void downconvertValues(DType dtype, const float* from, void* to, std::size_t count) {
  switch (dtype) {
    case DType::kU8:
      return downconvertToBytes(from, static_cast<std::uint8_t*>(to), count);
    case DType::kS8:
      return downconvertToBytes(from, static_cast<std::int8_t*>(to), count);
    case DType::kBf16:
      return downconvertToBf16(from, static_cast<std::uint16_t*>(to), count);
    case DType::kF16:
      return downconvertToF16(from, static_cast<std::uint16_t*>(to), count);
    default:
      std::memcpy(to, from, count * sizeof(float));
  }
}

// Element `at` of an array of `dtype`, as a float.
inline float valueAt(DType dtype, const void* from, std::int64_t at) {
  switch (dtype) {
    case DType::kU8:
      return static_cast<const std::uint8_t*>(from)[at];
    case DType::kS8:
      return static_cast<const std::int8_t*>(from)[at];
    case DType::kBf16:
      return bf16ToFloat(static_cast<const std::uint16_t*>(from)[at]);
    case DType::kF16:
      return f16ToFloat(static_cast<const std::uint16_t*>(from)[at]);
    default:
      return static_cast<const float*>(from)[at];
  }
}

// Converts `count` values that lie `stride` elements apart to float.
inline void gatherValues(DType dtype, const void* from, std::int64_t stride, float* to, std::int64_t count) {
  if (stride == 1) return upconvertValues(dtype, from, to, static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) to[i] = valueAt(dtype, from, i * stride);
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
