// Tiles of products of integers by vpdpbusd that end as u8: sums are scaled, added to or activated, and packed into
// bytes in the registers, four vectors at a time where a panel has as many. No lane is clamped before it is packed,
// since packing saturates and the plan of such tiles excludes values beyond 32 bits.
#if defined(IPEX_KERNELS_INT8_QUANTIZED_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_INT8_QUANTIZED_TILE_INL_H
#undef IPEX_KERNELS_INT8_QUANTIZED_TILE_INL_H
#else
#define IPEX_KERNELS_INT8_QUANTIZED_TILE_INL_H
#endif

#include "kernels/int8/int8_tile-inl.h"

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

constexpr int kQuantizedLanes = 16, kPackedVectors = 4;

// Stores sixteen sums as bytes, rounded to the nearest step. `addend`: sixteen bytes; not read without kAddend.
template <bool kAddend>
HWY_INLINE __m512i quantized(__m512i sum, __m512 scale, __m512 offset, __m512 factor, __m512i addend) {
  __m512 v = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), scale, offset);
  if constexpr (kAddend) v = _mm512_fmadd_ps(factor, _mm512_cvtepi32_ps(addend), v);
  return _mm512_cvtps_epi32(v);
}

// Lanes of vector f of 64 bytes in wideLane's order: bytes 4f … 4f + 3 of each block of 16, each followed by three
// zeros.
HWY_INLINE __m512i spreadLanes(__m512i bytes, int f) {
  const auto from = [f](unsigned lane) {
    return static_cast<int>(0x80808000u | (4 * static_cast<unsigned>(f) + lane));
  };
  return _mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(_mm_setr_epi32(from(0), from(1), from(2), from(3))));
}

// Stores a row of four vectors as 64 bytes. Packing puts four lanes of each vector side by side, which is how wideLane
// numbers columns; the addend's bytes are spread the same way.
template <bool kAddend>
HWY_INLINE void storePacked(const __m512i* sum, const __m512* scale, const __m512* offset, __m512 factor,
                            const std::uint8_t* addend, std::uint8_t* c) {
  __m512i v[kPackedVectors], bytes = _mm512_setzero_si512();
  if constexpr (kAddend) bytes = _mm512_loadu_si512(addend);
#pragma GCC unroll 4
  for (int f = 0; f < kPackedVectors; ++f) {
    v[f] = quantized<kAddend>(sum[f], scale[f], offset[f], factor, kAddend ? spreadLanes(bytes, f) : bytes);
  }
  _mm512_storeu_si512(c, _mm512_packus_epi16(_mm512_packs_epi32(v[0], v[1]), _mm512_packs_epi32(v[2], v[3])));
}

template <bool kAddend>
HWY_INLINE void storeQuantized(__m512i sum, __m512 scale, __m512 offset, __m512 factor, const std::uint8_t* addend,
                               std::uint8_t* c) {
  __m512i bytes = _mm512_setzero_si512();
  if constexpr (kAddend) bytes = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(addend)));
  const __m512i v = quantized<kAddend>(sum, scale, offset, factor, bytes);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(c), _mm512_cvtusepi32_epi8(_mm512_max_epi32(v, _mm512_setzero_si512())));
}

template <int kRows, int kVectors, bool kAddend>
HWY_INLINE void storeQuantized(const Int8Tile& t, const std::uint8_t* addend, std::uint8_t* c,
                               const hn::Vec<hn::ScalableTag<std::int32_t>> (&sum)[kRows][kVectors]) {
  const __m512 factor = _mm512_set1_ps(t.factor);
  const float* scales = t.scale;
  __m512 offset[kVectors];
#pragma GCC unroll 4
  for (int f = 0; f < kVectors; ++f) offset[f] = _mm512_loadu_ps(t.offset + f * kQuantizedLanes);
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    // Sums and offsets fill the registers: scales are read from memory for each row rather than kept there.
    asm("" : "+r"(scales));
    __m512 scale[kVectors];
    __m512i row[kVectors];
#pragma GCC unroll 4
    for (int f = 0; f < kVectors; ++f) {
      scale[f] = _mm512_loadu_ps(scales + f * kQuantizedLanes);
      row[f] = sum[r][f].raw;
    }
    const std::uint8_t* const from = kAddend ? addend + r * t.addend_stride : nullptr;
    if constexpr (kVectors == kPackedVectors) {
      storePacked<kAddend>(row, scale, offset, factor, from, c + r * t.c_stride);
    } else {
#pragma GCC unroll 4
      for (int f = 0; f < kVectors; ++f) {
        const std::int64_t column = f * kQuantizedLanes;
        storeQuantized<kAddend>(row[f], scale[f], offset[f], factor, kAddend ? from + column : nullptr,
                                c + r * t.c_stride + column);
      }
    }
  }
}

// The chain's activation, by its own code or by pieces.
template <IntegerActivation kActivation>
class ActivationV {
 public:
  explicit ActivationV(const Int8Tile& t) : scale_(t.activated_scale), offset_(t.activated_offset) {}
  HWY_INLINE VF operator()(VF v) const { return activated(F32(), kActivation, scale_, offset_, v); }

 private:
  float scale_, offset_;
};
template <>
class ActivationV<IntegerActivation::kSilu> : public SiluPiecesV {
 public:
  explicit ActivationV(const Int8Tile& t) : SiluPiecesV(t.silu) {}
};

// Stores `rows` rows of sums as bytes of activated values, plus the addend's where there is one. A function of its own,
// since the activation's tables want the registers that the sums had.
template <int kVectors, IntegerActivation kActivation, bool kAddend>
HWY_NOINLINE void storeActivated(const Int8Tile& t, const __m512i* sums, int rows, const std::uint8_t* addend,
                                 std::uint8_t* c) {
  const ActivationV<kActivation> activation(t);
  const __m512 factor = _mm512_set1_ps(t.factor);
  __m512 scale[kVectors], offset[kVectors];
  for (int f = 0; f < kVectors; ++f) {
    scale[f] = _mm512_loadu_ps(t.scale + f * kQuantizedLanes);
    offset[f] = _mm512_loadu_ps(t.offset + f * kQuantizedLanes);
  }
  const std::int64_t stride = t.c_stride, addend_stride = kAddend ? t.addend_stride : 0;
  for (int r = 0; r < rows; ++r, sums += kVectors, c += stride, addend += addend_stride) {
    __m512i v[kVectors], bytes = _mm512_setzero_si512();
    if constexpr (kAddend && kVectors == kPackedVectors) bytes = _mm512_loadu_si512(addend);
#pragma GCC unroll 4
    for (int f = 0; f < kVectors; ++f) {
      const VF value{_mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[f]), scale[f], offset[f])};
      __m512 result = activation(value).raw;
      if constexpr (kAddend) {
        const auto* const own = reinterpret_cast<const __m128i*>(addend + f * kQuantizedLanes);
        const __m512i lanes =
            kVectors == kPackedVectors ? spreadLanes(bytes, f) : _mm512_cvtepu8_epi32(_mm_loadu_si128(own));
        result = _mm512_fmadd_ps(factor, _mm512_cvtepi32_ps(lanes), result);
      }
      v[f] = _mm512_cvtps_epi32(result);
    }
    if constexpr (kVectors == kPackedVectors) {
      _mm512_storeu_si512(c, _mm512_packus_epi16(_mm512_packs_epi32(v[0], v[1]), _mm512_packs_epi32(v[2], v[3])));
    } else {
#pragma GCC unroll 4
      for (int f = 0; f < kVectors; ++f) {
        const __m512i positive = _mm512_max_epi32(v[f], _mm512_setzero_si512());
        _mm_storeu_si128(reinterpret_cast<__m128i*>(c + f * kQuantizedLanes), _mm512_cvtusepi32_epi8(positive));
      }
    }
  }
}

template <int kVectors, bool kAddend>
HWY_NOINLINE void storeActivated(const Int8Tile& t, const __m512i* sums, int rows, const std::uint8_t* addend,
                                 std::uint8_t* c) {
  switch (t.activation) {
    case IntegerActivation::kHardSwish:
      return storeActivated<kVectors, IntegerActivation::kHardSwish, kAddend>(t, sums, rows, addend, c);
    case IntegerActivation::kSilu:
      return storeActivated<kVectors, IntegerActivation::kSilu, kAddend>(t, sums, rows, addend, c);
    case IntegerActivation::kGeluErf:
      return storeActivated<kVectors, IntegerActivation::kGeluErf, kAddend>(t, sums, rows, addend, c);
    case IntegerActivation::kGeluTanh:
      return storeActivated<kVectors, IntegerActivation::kGeluTanh, kAddend>(t, sums, rows, addend, c);
    case IntegerActivation::kNone:
      break;
  }
}

template <int kRows, int kVectors>
HWY_INLINE void storeActivated(const Int8Tile& t, const std::uint8_t* addend, std::uint8_t* c,
                               const hn::Vec<hn::ScalableTag<std::int32_t>> (&sum)[kRows][kVectors]) {
  __m512i sums[kRows * kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int f = 0; f < kVectors; ++f) sums[r * kVectors + f] = sum[r][f].raw;
  }
  if (addend != nullptr) return storeActivated<kVectors, true>(t, sums, kRows, addend, c);
  storeActivated<kVectors, false>(t, sums, kRows, nullptr, c);
}

// Computes t.repeats tiles, one below the other. kFetch: t.ahead holds memory to prefetch.
template <int kRows, int kVectors, bool kFetch>
void multiplyToQuantized(const Int8Tile& tile) {
  using D = hn::ScalableTag<std::int32_t>;
  Int8Tile t = tile;  // bytes that are stored may alias anything
  const auto* addend = static_cast<const std::uint8_t*>(t.addend);
  auto* c = static_cast<std::uint8_t*>(t.c);
  std::conditional_t<kFetch, FetchAhead, FetchNothing> ahead(t.ahead, t.after);
  for (std::int64_t n = t.repeats; n > 0; --n) {
    hn::Vec<D> sum[kRows][kVectors];
    hn::Vec<hn::Half<D>> none[1];
    // Prefetches the lines of the result, which are often the addend's, while the products are summed.
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) __builtin_prefetch(c + r * t.c_stride, 1);
    sumProducts<kRows, kVectors, 0, true>(t, sum, none, &ahead);
    ahead.endTile();
    if (t.activation != IntegerActivation::kNone) {
      storeActivated<kRows, kVectors>(t, addend, c, sum);
      if (addend != nullptr) addend += kRows * t.addend_stride;
    } else if (addend != nullptr) {
      storeQuantized<kRows, kVectors, true>(t, addend, c, sum);
      addend += kRows * t.addend_stride;
    } else {
      storeQuantized<kRows, kVectors, false>(t, nullptr, c, sum);
    }
    t.a += kRows * t.row_stride;
    c += kRows * t.c_stride;
  }
}

// Computes neighbouring pixels of one line, tap by tap.
template <int kRows, int kVectors>
void multiplyTaps(const Int8Tile& tile) {
  using D = hn::ScalableTag<std::int32_t>;
  const Int8Tile t = tile;
  hn::Vec<D> sum[kRows][kVectors];
  hn::Vec<hn::Half<D>> none[1];
  startSums<kRows, kVectors, 0>(t.start, sum, none);
  const FetchRange weights{t.b, t.b};  // fetching what is there costs next to nothing
  FetchAhead ahead(t.ahead.done() && t.after.done() ? weights : t.ahead, t.after);
  const auto stride = static_cast<std::int64_t>(t.row_stride * sizeof(float));
  for (const Int8Tap* tap = t.taps; tap != t.taps + t.tap_count; ++tap) {
    const char* const a = reinterpret_cast<const char*>(tap->a);
    if (tap->rows == Int8Tap::kAll) {
      sumRun<kRows, kVectors, 0, true, 0, kRows>(a, stride, tap->length, tap->b, sum, none, &ahead);
    } else if (tap->rows == Int8Tap::kNotFirst) {
      sumRun<kRows, kVectors, 0, true, 1, kRows>(a, stride, tap->length, tap->b, sum, none, &ahead);
    } else {
      sumRun<kRows, kVectors, 0, true, 0, kRows - 1>(a, stride, tap->length, tap->b, sum, none, &ahead);
    }
  }
  const auto* const addend = static_cast<const std::uint8_t*>(t.addend);
  auto* const c = static_cast<std::uint8_t*>(t.c);
  if (t.activation != IntegerActivation::kNone) return storeActivated<kRows, kVectors>(t, addend, c, sum);
  if (addend != nullptr) return storeQuantized<kRows, kVectors, true>(t, addend, c, sum);
  storeQuantized<kRows, kVectors, false>(t, nullptr, c, sum);
}

// Clamps rows of bytes to bounds narrower than those of their type.
inline void clampBytes(std::uint8_t* c, std::int64_t stride, std::int64_t rows, std::int64_t width, std::uint8_t low,
                       std::uint8_t high) {
  const hn::CappedTag<std::uint8_t, kQuantizedLanes> d;
  const auto lowest = hn::Set(d, low), highest = hn::Set(d, high);
  for (std::int64_t r = 0; r < rows; ++r, c += stride) {
    for (std::int64_t i = 0; i < width; i += kQuantizedLanes)
      hn::StoreU(hn::Min(hn::Max(hn::LoadU(d, c + i), lowest), highest), d, c + i);
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // x86 with 512-bit vectors

#endif
