// The innermost part of products of integers: kRows rows of quads times one panel, sums of 32 bits in registers over
// the whole depth, then scale, offset, addend, clamp and the conversion to the result's type.
#if defined(IPEX_KERNELS_INT8_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_INT8_TILE_INL_H
#undef IPEX_KERNELS_INT8_TILE_INL_H
#else
#define IPEX_KERNELS_INT8_TILE_INL_H
#endif

#include <hwy/cache_control.h>

#include <cstring>
#include <type_traits>

#include "kernels/common/byte_convert-inl.h"
#include "kernels/common/simd-inl.h"
#include "kernels/common/smooth_activation-inl.h"
#include "kernels/common/vector_math-inl.h"
#include "kernels/int8/int8_gemm.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

constexpr bool kOneLane = HWY_TARGET == HWY_SCALAR;

// A vector of quads as a multiplication wants it: as it is, or the even and the odd bytes as 16 bits each.
template <class V, bool kVnni>
struct Vnni4Operand {
  V quad;
};
template <class V>
struct Vnni4Operand<V, false> {
  V even, odd;
};

template <bool kVnni, class D, class V = hn::Vec<D>>
HWY_INLINE Vnni4Operand<V, kVnni> loadWeights(D d, const float* from) {
  const V quad = hn::LoadU(d, reinterpret_cast<const std::int32_t*>(from));
  if constexpr (kVnni) {
    return {quad};
  } else if constexpr (kOneLane) {
    return {quad, quad};
  } else {
    const hn::Repartition<std::int16_t, D> d16;
    const auto pairs = hn::BitCast(d16, quad);
    return {hn::BitCast(d, hn::ShiftRight<8>(hn::ShiftLeft<8>(pairs))), hn::BitCast(d, hn::ShiftRight<8>(pairs))};
  }
}

// Quads of unsigned bytes, prepared likewise.
template <bool kVnni, class D, class V = hn::Vec<D>>
HWY_INLINE Vnni4Operand<V, kVnni> vnni4Operand(D d, V quads) {
  if constexpr (kVnni) {
    return {quads};
  } else if constexpr (kOneLane) {
    return {quads, quads};
  } else {
    const hn::Repartition<std::uint16_t, D> du16;
    return {hn::And(quads, hn::Set(d, 0x00FF00FF)), hn::BitCast(d, hn::ShiftRight<8>(hn::BitCast(du16, quads)))};
  }
}

template <bool kVnni, class D, class V = hn::Vec<D>>
HWY_INLINE V addProducts(D d, const Vnni4Operand<V, kVnni>& x, const Vnni4Operand<V, kVnni>& w, V sum) {
  if constexpr (kVnni) {
    // Assembly, because machines may have the instruction without the features of a Highway target that has it.
    static_cast<void>(d);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(x.quad.raw), "v"(w.quad.raw));
#endif
    return sum;
  } else if constexpr (kOneLane) {
    const auto bytes = static_cast<std::uint32_t>(hn::GetLane(x.even)),
               weights = static_cast<std::uint32_t>(hn::GetLane(w.even));
    std::int32_t total = hn::GetLane(sum);
    for (int i = 0; i < 32; i += 8) {
      total += static_cast<std::int32_t>(bytes >> i & 0xFF) * static_cast<std::int8_t>(weights >> i & 0xFF);
    }
    return hn::Set(d, total);
  } else {
    const hn::Repartition<std::int16_t, D> d16;
    V unused = hn::Zero(d);
    sum = hn::ReorderWidenMulAccumulate(d, hn::BitCast(d16, x.even), hn::BitCast(d16, w.even), sum, unused);
    return hn::ReorderWidenMulAccumulate(d, hn::BitCast(d16, x.odd), hn::BitCast(d16, w.odd), sum, unused);
  }
}

// hardswish(v) · scale + offset.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V hardSwish(D d, V v, float scale, float offset) {
  const V gate = hn::Min(hn::Set(d, 6.0f), hn::Max(hn::Zero(d), hn::Add(v, hn::Set(d, 3.0f))));
  return hn::MulAdd(hn::Mul(v, gate), hn::Set(d, scale * (1.0f / 6)), hn::Set(d, offset));
}

// x·Φ(x) with Φ(x) = 1/2 + x · P(x²) up to |x| = 4, 0 and 1 beyond: off by 2.2e-4 at most, far below a step of bytes. P
// was fitted by least squares with P(16) · 4 = 1/2, reweighted until the error of the product was level (Lawson 1961).
struct GeluTerms {
  float term[7];
};
constexpr GeluTerms kGeluErfTerms = {{0.397870272f, -0.0645544175f, 0.00876369273f, -0.000812187749f, 4.77639091e-05f,
                                      -1.58882805e-06f, 2.2588223e-08f}};
constexpr GeluTerms kGeluTanhTerms = {{0.397713524f, -0.0645966953f, 0.00881870954f, -0.000824474466f, 4.89345122e-05f,
                                       -1.64072281e-06f, 2.34688368e-08f}};

template <class D, class V = hn::Vec<D>>
HWY_INLINE V geluNearV(D d, const GeluTerms& terms, V x) {
  const V end = hn::Set(d, 4.0f);
  const V t = hn::Min(end, hn::Max(hn::Neg(end), x));  // NaN stays: the second operand wins
  const V s = hn::Mul(t, t);
  V p = hn::Set(d, terms.term[6]);
#pragma GCC unroll 6
  for (int k = 5; k >= 0; --k) p = hn::MulAdd(p, s, hn::Set(d, terms.term[k]));
  return hn::Mul(x, hn::MulAdd(t, p, hn::Set(d, 0.5f)));
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
// SiluPieces in registers.
class SiluPiecesV {
 public:
  explicit HWY_INLINE SiluPiecesV(const SiluPieces* pieces)
      : half_(hn::Set(F32(), pieces->half)),
        constant_(pieces->coefficients[0]),
        linear_(pieces->coefficients[1]),
        square_(pieces->coefficients[2]) {}

  HWY_INLINE VF operator()(VF x) const {
    const F32 d;
    const VF distance = hn::Abs(x);
    // Min returns its second argument when one is NaN.
    const VF place = hn::Min(hn::Set(d, SiluPieces::kPieces - 1.0f),
                             hn::Mul(distance, hn::Set(d, SiluPieces::kPieces / SiluPieces::kEnd)));
    const PieceCoefficients::Indices piece{_mm512_cvttps_epi32(place.raw)};  // without Highway's care for large floats
    const VF p = hn::MulAdd(square_.at(piece), distance, linear_.at(piece));
    return hn::MulAdd(x, half_, hn::MulAdd(p, distance, constant_.at(piece)));
  }

 private:
  VF half_;
  PieceCoefficients constant_, linear_, square_;
};
constexpr bool kHasPieces = true;
#else
class SiluPiecesV;
constexpr bool kHasPieces = false;
#endif
struct NoPieces {
  explicit NoPieces(const SiluPieces*) {}
};

// activation(v) · scale + offset.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V activated(D d, IntegerActivation activation, float scale, float offset, V v) {
  switch (activation) {
    case IntegerActivation::kNone:
      return v;
    case IntegerActivation::kHardSwish:
      return hardSwish(d, v, scale, offset);
    case IntegerActivation::kSilu:
      v = hn::Mul(v, sigmoidV(d, v));
      break;
    case IntegerActivation::kGeluErf:
      v = geluNearV(d, kGeluErfTerms, v);
      break;
    case IntegerActivation::kGeluTanh:
      v = geluNearV(d, kGeluTanhTerms, v);
      break;
  }
  return hn::MulAdd(v, hn::Set(d, scale), hn::Set(d, offset));
}

// Finishes the sums of a tile, rows `width` apart, from `column` on, in vectors of D. Results are bytes, which may
// alias anything, so the loop keeps members of the tile in variables.
enum class TileEnd { kPlain, kSiluOfBytes, kAny };  // kPlain: no rounded rows, no activation; kSiluOfBytes: by pieces
template <class Addend, class Result, TileEnd kEnd, class D>
HWY_INLINE void finishColumns(D d, const Int8Tile& tile, const std::int32_t* sums, std::int64_t rows,
                              std::int64_t width, std::int64_t column) {
  const hn::RebindToSigned<D> di;
  const Int8Tile t = tile;
  const auto factor = hn::Set(d, t.factor), low = hn::Set(d, t.low), high = hn::Set(d, t.high);
  const auto scale = hn::LoadU(d, t.scale + column), offset = hn::LoadU(d, t.offset + column);
  auto* c = static_cast<Result*>(t.c) + column;
  const auto* o = static_cast<const std::conditional_t<std::is_void_v<Addend>, char, Addend>*>(t.addend) +
                  (std::is_void_v<Addend> ? 0 : column);
  const std::conditional_t<kEnd == TileEnd::kSiluOfBytes, SiluPiecesV, NoPieces> silu(t.silu);
  sums += column;
  for (std::int64_t r = 0; r < rows; ++r, sums += width, c += t.c_stride) {
    auto sum = hn::LoadU(di, sums);
    if (kEnd == TileEnd::kAny && t.row_zero != nullptr)
      sum = hn::Sub(sum, hn::Mul(hn::Set(di, t.row_zero[r]), hn::LoadU(di, t.column_sums + column)));
    auto product = hn::ConvertTo(d, sum);
    if (kEnd == TileEnd::kAny && t.row_scale != nullptr) product = hn::Mul(product, hn::Set(d, t.row_scale[r]));
    auto v = hn::MulAdd(product, scale, offset);
    auto addend = hn::Zero(d);
    if constexpr (!std::is_void_v<Addend>) {
      if constexpr (sizeof(Addend) == 1) {
        addend = loadBytes(d, o);
      } else {
        addend = hn::LoadU(d, o);
      }
      o += t.addend_stride;
      if (!t.adds_last) v = hn::MulAdd(factor, addend, v);
    }
    if constexpr (kEnd == TileEnd::kSiluOfBytes) v = silu(v);
    if constexpr (kEnd == TileEnd::kAny) v = activated(d, t.activation, t.activated_scale, t.activated_offset, v);
    if (!std::is_void_v<Addend> && t.adds_last) v = hn::MulAdd(factor, addend, v);
    // Max and Min return their second argument when one is NaN: bytes become the lowest, floats stay.
    if constexpr (sizeof(Result) == 1) {
      storeRounded(d, hn::Min(hn::Max(v, low), high), c);
    } else if constexpr (sizeof(Result) == sizeof(std::uint16_t)) {
      storeBf16(d, hn::Min(high, hn::Max(low, v)), c);
    } else {
      hn::StoreU(hn::Min(high, hn::Max(low, v)), d, c);
    }
  }
}

template <class Addend, class Result, TileEnd kEnd>
void finishTileAs(const Int8Tile& t, const std::int32_t* sums, std::int64_t rows, std::int64_t width) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 8> half;  // where panels end in half a vector
  constexpr std::int64_t kLanes = hn::MaxLanes(d);
  std::int64_t column = 0;
  for (; column + kLanes <= width; column += kLanes)
    finishColumns<Addend, Result, kEnd>(d, t, sums, rows, width, column);
  constexpr TileEnd kHalfEnd = kEnd == TileEnd::kSiluOfBytes ? TileEnd::kAny : kEnd;
  for (; column < width; column += hn::MaxLanes(half))
    finishColumns<Addend, Result, kHalfEnd>(half, t, sums, rows, width, column);
}

template <class Addend, class Result>
void finishTile(const Int8Tile& t, const std::int32_t* sums, std::int64_t rows, std::int64_t width) {
  const bool plain_rows = t.row_zero == nullptr && t.row_scale == nullptr;
  if (plain_rows && t.activation == IntegerActivation::kNone)
    return finishTileAs<Addend, Result, TileEnd::kPlain>(t, sums, rows, width);
  if constexpr (kHasPieces && sizeof(Result) == 1) {
    if (plain_rows && t.activation == IntegerActivation::kSilu)
      return finishTileAs<Addend, Result, TileEnd::kSiluOfBytes>(t, sums, rows, width);
  }
  finishTileAs<Addend, Result, TileEnd::kAny>(t, sums, rows, width);
}

template <class Addend>
void finishTyped(const Int8Tile& t, const std::int32_t* sums, std::int64_t rows, std::int64_t width) {
  if (t.c_type == DType::kF32) return finishTile<Addend, float>(t, sums, rows, width);
  if (t.c_type == DType::kBf16) return finishTile<Addend, std::uint16_t>(t, sums, rows, width);
  finishTile<Addend, std::uint8_t>(t, sums, rows, width);  // the clamp makes the difference between u8 and s8
}

HWY_NOINLINE inline void finishSums(const Int8Tile& t, const std::int32_t* sums, std::int64_t rows,
                                    std::int64_t width) {
  if (t.addend == nullptr) return finishTyped<void>(t, sums, rows, width);
  if (t.addend_type == DType::kU8) return finishTyped<std::uint8_t>(t, sums, rows, width);
  if (t.addend_type == DType::kS8) return finishTyped<std::int8_t>(t, sums, rows, width);
  finishTyped<float>(t, sums, rows, width);
}

// Memory that arrives in the second-level cache while a tile is summed, a line for each step along the depth: `first`,
// then `second`, then nothing new.
class FetchAhead {
 public:
  FetchAhead(const FetchRange& first, const FetchRange& second) : next_(first.begin), end_(first.end), second_(second) {
    endTile();
  }
  HWY_INLINE void fetch() {
    __builtin_prefetch(next_, 0, 2);
    next_ += step_;
  }
  void endTile() {
    if (next_ < end_) return;
    if (second_.done()) {
      step_ = 0;
      return;
    }
    next_ = second_.begin;
    end_ = second_.end;
    second_ = {};
  }

 private:
  const float *next_, *end_;
  FetchRange second_;
  std::int64_t step_ = kLineFloats;
};
struct FetchNothing {
  FetchNothing(const FetchRange&, const FetchRange&) {}
  HWY_INLINE void fetch() {}
  void endTile() {}
};

// Adds `length` quads of rows [kFirst, kEnd) of a tile times as many lines of a panel, from `b` on; row kFirst begins
// at `a`, rows are `stride` bytes apart. Sums lie in registers: full vectors of a row, then half a vector.
template <int kRows, int kFull, int kHalf, bool kVnni, int kFirst, int kEnd, class Fetch,
          class D = hn::ScalableTag<std::int32_t>, class H = hn::Half<D>>
HWY_INLINE void sumRun(const char* a, std::int64_t stride, std::int64_t length, const float* b,
                       hn::Vec<D> (&sum)[kRows][kFull > 0 ? kFull : 1], hn::Vec<H> (&half_sum)[kHalf > 0 ? kRows : 1],
                       Fetch* ahead) {
  const D d;
  const H h;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  constexpr int kWidth = kFull * kLanes + kHalf * kLanes / 2;
  // Three rows to a base: base, base + stride and base + 2 · stride are addresses of one instruction.
  constexpr int kBases = (kEnd - kFirst + 2) / 3;
  const char* base[kBases];
  base[0] = a;
#pragma GCC unroll 8
  for (int i = 1; i < kBases; ++i) base[i] = base[i - 1] + 3 * stride;
  for (std::int64_t k = length; k > 0; --k, b += kWidth) {
    ahead->fetch();
    Vnni4Operand<hn::Vec<D>, kVnni> w[kFull > 0 ? kFull : 1];
    Vnni4Operand<hn::Vec<H>, kVnni> half_w;
#pragma GCC unroll 4
    for (int f = 0; f < kFull; ++f) w[f] = loadWeights<kVnni>(d, b + f * kLanes);
    if constexpr (kHalf > 0) half_w = loadWeights<kVnni>(h, b + kFull * kLanes);
#pragma GCC unroll 16
    for (int r = kFirst; r < kEnd; ++r) {
      const int from = r - kFirst;
      std::int32_t quad;
      std::memcpy(&quad, base[from / 3] + from % 3 * stride, sizeof quad);
      if constexpr (kFull > 0) {
        const auto wide = vnni4Operand<kVnni>(d, hn::Set(d, quad));
#pragma GCC unroll 4
        for (int f = 0; f < kFull; ++f) sum[r][f] = addProducts<kVnni>(d, wide, w[f], sum[r][f]);
      }
      if constexpr (kHalf > 0)
        half_sum[r] = addProducts<kVnni>(h, vnni4Operand<kVnni>(h, hn::Set(h, quad)), half_w, half_sum[r]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < kBases; ++i) base[i] += sizeof(float);
  }
}

template <int kRows, int kFull, int kHalf, class D = hn::ScalableTag<std::int32_t>, class H = hn::Half<D>>
HWY_INLINE void startSums(const std::int32_t* start, hn::Vec<D> (&sum)[kRows][kFull > 0 ? kFull : 1],
                          hn::Vec<H> (&half_sum)[kHalf > 0 ? kRows : 1]) {
  const D d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int f = 0; f < kFull; ++f) sum[r][f] = hn::LoadU(d, start + f * kLanes);
    if constexpr (kHalf > 0) half_sum[r] = hn::LoadU(H(), start + kFull * kLanes);
  }
}

// Computes a tile: sums over all segments, then finishes them.
template <int kRows, int kFull, int kHalf, bool kVnni, class Fetch, class D = hn::ScalableTag<std::int32_t>,
          class H = hn::Half<D>>
HWY_INLINE void sumProducts(const Int8Tile& t, hn::Vec<D> (&sum)[kRows][kFull > 0 ? kFull : 1],
                            hn::Vec<H> (&half_sum)[kHalf > 0 ? kRows : 1], Fetch* ahead) {
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
  constexpr int kWidth = kFull * kLanes + kHalf * kLanes / 2;
  startSums<kRows, kFull, kHalf>(t.start, sum, half_sum);
  const float* b = t.b;
  const auto stride = static_cast<std::int64_t>(t.row_stride * sizeof(float));
  for (std::int64_t segment = 0; segment < t.segments; ++segment, b += t.length * kWidth) {
    const char* const a = reinterpret_cast<const char*>(t.a + t.offsets[segment]);
    sumRun<kRows, kFull, kHalf, kVnni, 0, kRows>(a, stride, t.length, b, sum, half_sum, ahead);
  }
}

template <int kRows, int kFull, int kHalf, bool kVnni>
void multiplyBytes(const Int8Tile& t) {
  using D = hn::ScalableTag<std::int32_t>;
  using H = hn::Half<D>;
  const D d;
  const H h;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  constexpr int kWidth = kFull * kLanes + kHalf * kLanes / 2;
  hn::Vec<D> sum[kRows][kFull > 0 ? kFull : 1];
  hn::Vec<H> half_sum[kHalf > 0 ? kRows : 1];
  FetchNothing nothing({}, {});
  sumProducts<kRows, kFull, kHalf, kVnni>(t, sum, half_sum, &nothing);
  HWY_ALIGN std::int32_t sums[kRows * kWidth];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int f = 0; f < kFull; ++f) hn::StoreU(sum[r][f], d, sums + r * kWidth + f * kLanes);
    if constexpr (kHalf > 0) hn::StoreU(half_sum[r], h, sums + r * kWidth + kFull * kLanes);
  }
  finishSums(t, sums, kRows, kWidth);
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
