// VNNI-2 packing: pairs of bf16 numbers in 32 bits, and tiles of their products with sums in FP32, once per Highway
// target. With AVX512-BF16 the product of two pairs is one instruction (vdpbf16ps); elsewhere both halves become floats
// and are multiplied.
#if defined(IPEX_KERNELS_ATTENTION_VNNI2_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_ATTENTION_VNNI2_INL_H
#undef IPEX_KERNELS_ATTENTION_VNNI2_INL_H
#else
#define IPEX_KERNELS_ATTENTION_VNNI2_INL_H
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/attention/attention_job.h"
#include "kernels/attention/attention_tile-inl.h"
#include "kernels/common/bf16-inl.h"
#include "kernels/common/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

using U32 = hn::RebindToUnsigned<F32>;
using VU = hn::Vec<U32>;
using Half = hn::Rebind<std::uint16_t, F32>;

// --- products --------------------------------------------------------------------------------------------------------

// A vector of pairs as a multiplication wants it.
template <bool kNative>
struct Vnni2Operand {
  VU pair;
};
template <>
struct Vnni2Operand<false> {
  VF even, odd;
};

template <bool kNative>
HWY_INLINE Vnni2Operand<kNative> vnni2Operand(VU pair) {
  if constexpr (kNative) {
    return {pair};
  } else {
    return {lowerOfPairs(F32(), pair), upperOfPairs(F32(), pair)};
  }
}

template <bool kNative>
HWY_INLINE VF addVnni2Products(const Vnni2Operand<kNative>& a, const Vnni2Operand<kNative>& b, VF sum) {
  if constexpr (kNative) {
    return addProductsOfPairs(a.pair, b.pair, sum);
  } else {
    return hn::MulAdd(a.odd, b.odd, hn::MulAdd(a.even, b.even, sum));
  }
}

// c[r][column] = factor · Σ_step a[r][step]·b[step][column], + c[r][column] · row_factor[r] where that is given. a:
// rows of pairs, `a_stride` pairs apart; b: steps rows of whole vectors of pairs.
struct Vnni2Tile {
  const std::uint32_t* a = nullptr;
  std::int64_t a_stride = 0, steps = 0;
  const std::uint32_t* b = nullptr;
  float* c = nullptr;
  std::int64_t c_stride = 0;
  float factor = 1;
  const float* row_factor = nullptr;
};

template <bool kNative, int kRows, int kVectors>
void multiplyVnni2(const Vnni2Tile& t) {
  const F32 d;
  const U32 dw;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  VF sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  }
  // Three rows to a base: base, base + stride and base + 2 · stride are addresses of one instruction. By bytes, as the
  // memory of pairs holds other types, too.
  constexpr int kBases = (kRows + 2) / 3;
  constexpr std::int64_t kPairBytes = sizeof(std::uint32_t);
  const std::int64_t stride = t.a_stride * kPairBytes;
  const char* base[kBases];
#pragma GCC unroll 8
  for (int i = 0; i < kBases; ++i) base[i] = reinterpret_cast<const char*>(t.a) + 3 * i * stride;
  const std::uint32_t* b = t.b;
  for (std::int64_t step = t.steps; step > 0; --step, b += kVectors * lanes) {
    Vnni2Operand<kNative> columns[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) columns[v] = vnni2Operand<kNative>(hn::Load(dw, b + v * lanes));
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      std::uint32_t pair;
      std::memcpy(&pair, base[r / 3] + r % 3 * stride, sizeof pair);
      const auto row = vnni2Operand<kNative>(hn::Set(dw, pair));
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] = addVnni2Products<kNative>(row, columns[v], sum[r][v]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < kBases; ++i) base[i] += kPairBytes;
  }
  const VF factor = hn::Set(d, t.factor);
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    float* c = t.c + r * t.c_stride;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      VF value = hn::Mul(factor, sum[r][v]);
      if (t.row_factor != nullptr) value = hn::MulAdd(hn::Set(d, t.row_factor[r]), hn::Load(d, c + v * lanes), value);
      hn::Store(value, d, c + v * lanes);
    }
  }
}

// --- packing ---------------------------------------------------------------------------------------------------------

HWY_INLINE VU halvesOf(const std::uint16_t* from) { return hn::PromoteTo(U32(), hn::LoadU(Half(), from)); }
// Rounded to nearest even; NaN stays NaN.
HWY_INLINE VU halvesOf(VF value) {
  const U32 dw;
  const VU bits = hn::BitCast(dw, value), upper = hn::ShiftRight<16>(bits);
  const VU rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(hn::Set(dw, 0x7fffu), hn::And(upper, hn::Set(dw, 1u)))));
  return hn::IfThenElse(hn::RebindMask(dw, hn::IsNaN(value)), hn::Or(upper, hn::Set(dw, 0x40u)), rounded);
}
HWY_INLINE VU halvesOf(const float* from) { return halvesOf(hn::LoadU(F32(), from)); }
HWY_INLINE std::uint32_t halfOf(std::uint16_t bits) { return bits; }
HWY_INLINE std::uint32_t halfOf(float value) { return floatToBf16(value); }

// Packs `count` numbers as pairs; a number that is left alone is paired with 0.
template <class T>
inline void packRowVnni2(const T* from, std::int64_t stride, std::int64_t count, std::uint32_t* to) {
  auto* const halves = reinterpret_cast<std::uint16_t*>(to);
  if (stride != 1) {
    for (std::int64_t i = 0; i < count; ++i) halves[i] = static_cast<std::uint16_t>(halfOf(from[i * stride]));
  } else if constexpr (sizeof(T) == sizeof(std::uint16_t)) {
    std::memcpy(halves, from, static_cast<std::size_t>(count) * sizeof(T));
  } else {
    downconvertToBf16(from, halves, static_cast<std::size_t>(count));
  }
  if (count % 2 != 0) halves[count] = 0;
}

constexpr int kKeysTogether = HWY_TARGET == HWY_SCALAR ? 1 : 4;

// to[step · stride + i] = rows[i][step] for kKeysTogether rows of `steps` pairs.
HWY_INLINE void transposePairs(const std::uint32_t* const* rows, std::int64_t steps, std::uint32_t* to,
                               std::int64_t stride) {
  std::int64_t step = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<std::uint32_t, 4> d4;
  const hn::Repartition<std::uint64_t, decltype(d4)> d2;
  for (; step + 4 <= steps; step += 4, to += 4 * stride) {
    const auto a = hn::LoadU(d4, rows[0] + step), b = hn::LoadU(d4, rows[1] + step);
    const auto e = hn::LoadU(d4, rows[2] + step), g = hn::LoadU(d4, rows[3] + step);
    const auto ab0 = hn::BitCast(d2, hn::InterleaveLower(d4, a, b)),
               ab1 = hn::BitCast(d2, hn::InterleaveUpper(d4, a, b));
    const auto eg0 = hn::BitCast(d2, hn::InterleaveLower(d4, e, g)),
               eg1 = hn::BitCast(d2, hn::InterleaveUpper(d4, e, g));
    hn::StoreU(hn::BitCast(d4, hn::InterleaveLower(d2, ab0, eg0)), d4, to);
    hn::StoreU(hn::BitCast(d4, hn::InterleaveUpper(d2, ab0, eg0)), d4, to + stride);
    hn::StoreU(hn::BitCast(d4, hn::InterleaveLower(d2, ab1, eg1)), d4, to + 2 * stride);
    hn::StoreU(hn::BitCast(d4, hn::InterleaveUpper(d2, ab1, eg1)), d4, to + 3 * stride);
  }
#endif
  for (; step < steps; ++step, to += stride) {
    for (int i = 0; i < kKeysTogether; ++i) std::memcpy(to + i, rows[i] + step, sizeof *to);
  }
}

// to[step][key] = the pair of numbers `step` of each key, for keys [0, `columns`), whole vectors; those from `keys` on
// are 0. temp: kKeysTogether rows of pairs.
template <class T>
inline void packKeysVnni2(const T* k, const MatrixStrides& strides, std::int64_t keys, std::int64_t columns,
                          std::int64_t depth, std::uint32_t* temp, std::uint32_t* to) {
  const std::int64_t steps = (depth + 1) / 2;
  const bool as_they_lie = sizeof(T) == sizeof(std::uint16_t) && strides.column == 1 && depth % 2 == 0;
  for (std::int64_t key = 0; key < columns; key += kKeysTogether) {
    const std::uint32_t* rows[kKeysTogether];
    for (int i = 0; i < kKeysTogether; ++i) {
      const T* const from = k + (key + i) * strides.row;
      rows[i] = temp + i * steps;
      if (key + i >= keys) {
        std::fill(temp + i * steps, temp + (i + 1) * steps, 0u);
      } else if (as_they_lie) {
        rows[i] = reinterpret_cast<const std::uint32_t*>(from);
      } else {
        packRowVnni2(from, strides.column, depth, temp + i * steps);
      }
    }
    transposePairs(rows, steps, to + key, columns);
  }
}

// to[step][column] = the numbers of keys 2 · step and 2 · step + 1, for columns [0, `padded`), whole vectors; what does
// not exist is 0.
template <class T>
inline void packValuesVnni2(const T* v, const MatrixStrides& strides, std::int64_t keys, std::int64_t columns,
                            std::int64_t padded, std::uint32_t* to) {
  const U32 dw;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(dw));
  const std::int64_t whole = strides.column == 1 ? columns / lanes * lanes : 0;
  for (std::int64_t key = 0; key < keys; key += 2, to += padded) {
    const T* const even = v + key * strides.row;
    const T* const odd = even + strides.row;
    const bool both = key + 1 < keys;
    for (std::int64_t c = 0; c < whole; c += lanes) {
      VU pairs = halvesOf(even + c);
      if (both) pairs = hn::Or(pairs, hn::ShiftLeft<16>(halvesOf(odd + c)));
      hn::Store(pairs, dw, to + c);
    }
    for (std::int64_t c = whole; c < padded; ++c) {
      std::uint32_t pair = 0;
      if (c < columns) pair = halfOf(even[c * strides.column]);
      if (c < columns && both) pair |= halfOf(odd[c * strides.column]) << 16;
      to[c] = pair;
    }
  }
}

// --- exponentials ----------------------------------------------------------------------------------------------------

// 2^t for t ≤ 0, 0 below -126.5, off by 3e-6 of its size; keeps NaN. The polynomial was fitted to the relative error by
// reweighted least squares.
HWY_INLINE VF powerOfTwo(VF t) {
  const F32 d;
  // Adding 1.5 · 2^23 + 127 leaves the rounded t, biased as exponents are, in the low bits.
  const VF magic = hn::Set(d, 12582912.0f + 127.0f);
  t = hn::Max(hn::Set(d, -127.0f), t);  // NaN: the second wins
  const VF shifted = hn::Add(t, magic);
  const VF r = hn::Sub(t, hn::Sub(shifted, magic));
  VF p = hn::Set(d, 9.58285393e-3f);
  p = hn::MulAdd(p, r, hn::Set(d, 5.59064302e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 2.40240986e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 6.93124193e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  return hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(U32(), shifted))));
}

// Two vectors of floats as bf16, those of `low` first.
template <bool kNative>
HWY_INLINE void storeVnni2(VF low, VF high, std::uint16_t* to) {
  const F32 d;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if constexpr (kNative) {
    const hn::Repartition<std::uint16_t, F32> all;
    auto halves = hn::Zero(all);
    asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(halves.raw) : "v"(low.raw), "v"(high.raw));
    hn::StoreU(halves, all, to);
    return;
  }
#endif
  storeBf16(d, low, to);
  storeBf16(d, high, to + hn::Lanes(d));
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
