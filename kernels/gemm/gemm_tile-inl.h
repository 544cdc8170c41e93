// The innermost part of the packed matrix product: kRows rows of A times one panel of B, accumulated in registers over
// the whole depth. A panel is kFull vectors and kHalf half vectors wide: where a half vector costs half (AVX-512 in two
// passes, as on Zen 4), 24, 40, 72 … columns waste no lanes.
#if defined(IPEX_KERNELS_GEMM_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_GEMM_TILE_INL_H
#undef IPEX_KERNELS_GEMM_TILE_INL_H
#else
#define IPEX_KERNELS_GEMM_TILE_INL_H
#endif

#include <hwy/cache_control.h>

#include <cstring>

#include "kernels/common/bf16-inl.h"
#include "kernels/common/simd-inl.h"
#include "kernels/gemm/packed_gemm.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

using HalfF32 = hn::Half<F32>;
using HalfVF = hn::Vec<HalfF32>;

template <int kFull, int kHalf>
constexpr int kPanelWidth =
    kFull* static_cast<int>(hn::MaxLanes(F32())) + kHalf* static_cast<int>(hn::MaxLanes(F32())) / 2;

struct FloatProducts {
  template <class V>
  static HWY_INLINE V add(V x, V w, V sum) {
    return hn::MulAdd(x, w, sum);
  }
};

// Sums of the tile's products and its bias. Products::add(x, w, sum) multiplies what 32 bits of x and w hold.
// `line_bytes`: of a row of the result.
template <int kRows, int kFull, int kHalf, class Products>
HWY_INLINE void sumTile(const GemmTile& t, std::int64_t line_bytes, VF (&sum)[kRows][kFull > 0 ? kFull : 1],
                        HalfVF (&half_sum)[kRows]) {
  const F32 d;
  const HalfF32 h;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  constexpr int kWidth = kPanelWidth<kFull, kHalf>;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int f = 0; f < kFull; ++f) sum[r][f] = hn::LoadU(d, t.bias + f * kLanes);
    if (kHalf) half_sum[r] = hn::LoadU(h, t.bias + kFull * kLanes);
  }
  // Prefetches the result's lines while the sums are made: a tile's stores touch each line once, in an order that the
  // hardware does not predict.
  constexpr int kLine = 64;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int i = 0; i < line_bytes; i += kLine) hwy::Prefetch(t.lines + r * t.lines_stride + i);
  }
  const auto stride = static_cast<std::int64_t>(t.row_stride * sizeof(float));
  for (std::int64_t segment = 0; segment < t.segments; ++segment) {
    const std::int32_t piece = t.pieces[segment];
    const float* b = t.b + piece * t.length * kWidth;
    // Three rows to a base: base, base + stride and base + 2 · stride are addresses of one instruction.
    constexpr int kBases = (kRows + 2) / 3;
    const char* base[kBases];
    base[0] = reinterpret_cast<const char*>(t.a + t.offsets[piece]);
#pragma GCC unroll 8
    for (int i = 1; i < kBases; ++i) base[i] = base[i - 1] + 3 * stride;
    for (std::int64_t k = t.length; k > 0; --k, b += kWidth) {
      VF w[kFull > 0 ? kFull : 1];
      HalfVF half_w;
#pragma GCC unroll 4
      for (int f = 0; f < kFull; ++f) w[f] = hn::LoadU(d, b + f * kLanes);
      if (kHalf) half_w = hn::LoadU(h, b + kFull * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const float x = *reinterpret_cast<const float*>(base[r / 3] + r % 3 * stride);
        if (kFull > 0) {
          const VF wide = hn::Set(d, x);
#pragma GCC unroll 4
          for (int f = 0; f < kFull; ++f) sum[r][f] = Products::add(wide, w[f], sum[r][f]);
          if (kHalf) half_sum[r] = Products::add(hn::LowerHalf(h, wide), half_w, half_sum[r]);
        } else {
          half_sum[r] = Products::add(hn::Set(h, x), half_w, half_sum[r]);
        }
      }
#pragma GCC unroll 8
      for (int i = 0; i < kBases; ++i) base[i] += sizeof(float);
    }
  }
}

// Calls fn(tag, value, row, column) for each vector of the tile; fn may change the value.
template <int kRows, int kFull, int kHalf, class Fn>
HWY_INLINE void forTileVectors(VF (&sum)[kRows][kFull > 0 ? kFull : 1], HalfVF (&half_sum)[kRows], const Fn& fn) {
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(F32()));
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int f = 0; f < kFull; ++f) fn(F32(), sum[r][f], r, f * kLanes);
    if (kHalf) fn(HalfF32(), half_sum[r], r, kFull * kLanes);
  }
}

// Calls store(tag, value, row, column) with each activated vector.
template <int kRows, int kFull, int kHalf, class Store>
HWY_INLINE void storeActivated(const GemmTile& t, VF (&sum)[kRows][kFull > 0 ? kFull : 1], HalfVF (&half_sum)[kRows],
                               const Store& store) {
  // Max and Min return their second argument when one is NaN: the value goes second, so NaN stays.
  if (t.activation == GemmActivation::kHardSwish) {
    forTileVectors<kRows, kFull, kHalf>(sum, half_sum, [&](auto tag, auto& v, int r, int column) HWY_ATTR {
      const auto shifted = hn::Add(v, hn::Set(tag, 3.0f));
      const auto gate = hn::Min(hn::Set(tag, 6.0f), hn::Max(hn::Zero(tag), shifted));
      store(tag, hn::Mul(hn::Mul(v, gate), hn::Set(tag, 1.0f / 6)), r, column);
    });
  } else {
    forTileVectors<kRows, kFull, kHalf>(
        sum, half_sum, [&, low = t.low, high = t.high](auto tag, auto& v, int r, int column) HWY_ATTR {
          store(tag, hn::Min(hn::Set(tag, high), hn::Max(hn::Set(tag, low), v)), r, column);
        });
  }
}

// Adds the tile's addend, of T.
template <int kRows, int kFull, int kHalf, class T>
HWY_INLINE void addToTile(const GemmTile& t, VF (&sum)[kRows][kFull > 0 ? kFull : 1], HalfVF (&half_sum)[kRows]) {
  const T* const addend = static_cast<const T*>(t.addend);
  forTileVectors<kRows, kFull, kHalf>(sum, half_sum, [&](auto tag, auto& v, int r, int column) HWY_ATTR {
    v = hn::Add(v, loadFloats(tag, addend + r * t.addend_stride + column));
  });
}

// Activates and stores the tile as floats.
template <int kRows, int kFull, int kHalf>
HWY_INLINE void storeTile(const GemmTile& t, VF (&sum)[kRows][kFull > 0 ? kFull : 1], HalfVF (&half_sum)[kRows]) {
  float* const c = static_cast<float*>(t.c);
  storeActivated<kRows, kFull, kHalf>(t, sum, half_sum, [&](auto tag, auto v, int r, int column) HWY_ATTR {
    hn::StoreU(v, tag, c + r * t.c_stride + column);
  });
}

template <int kRows, int kFull, int kHalf>
void multiplyTile(const GemmTile& t) {
  VF sum[kRows][kFull > 0 ? kFull : 1];
  HalfVF half_sum[kRows];
  constexpr std::int64_t kLineBytes = kPanelWidth<kFull, kHalf> * sizeof(float);
  sumTile<kRows, kFull, kHalf, FloatProducts>(t, kLineBytes, sum, half_sum);
  if (t.addend != nullptr) addToTile<kRows, kFull, kHalf, float>(t, sum, half_sum);
  storeTile<kRows, kFull, kHalf>(t, sum, half_sum);
}

struct FloatTiles {
  template <int kRows, int kFull, int kHalf>
  static constexpr void (*kRun)(const GemmTile&) = &multiplyTile<kRows, kFull, kHalf>;

  static constexpr std::int64_t elementOf(DType) { return sizeof(float); }

  // Copies `columns` values of each of `rows` rows.
  static void storeRows(const float* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns,
                        DType /*result*/, char* to, std::int64_t to_stride) {
    for (std::int64_t r = 0; r < rows; ++r) {
      std::memcpy(to + r * to_stride * static_cast<std::int64_t>(sizeof(float)), from + r * from_stride,
                  static_cast<std::size_t>(columns) * sizeof(float));
    }
  }

  // Results of floats are not rounded: their activations are exact.
  static void storeActivatedRows(const SmoothActivation&, const float*, std::int64_t, std::int64_t, std::int64_t,
                                 std::uint16_t*, std::int64_t) {}
};

constexpr bool kHalfVectors = hn::MaxLanes(F32()) == 16;
constexpr int kUnit = hn::MaxLanes(F32()) / (kHalfVectors ? 2 : 1);  // columns

using TileRun = void (*)(const GemmTile& tile);

// Panels by width in units: rows that the registers take, and the code for each number of rows.
struct TileKind {
  int max_rows = 0;
  TileRun run[kGemmMaxRows + 1] = {};
};

template <class Tiles, int kFull, int kHalf, int kRows>
constexpr void fillRows(TileKind* kind) {
  kind->run[kRows] = Tiles::template kRun<kRows, kFull, kHalf>;
  if constexpr (kRows > 1) fillRows<Tiles, kFull, kHalf, kRows - 1>(kind);
}

template <class Tiles, int kRows, int kFull, int kHalf>
constexpr TileKind tileKind() {
  TileKind kind;
  kind.max_rows = kRows;
  fillRows<Tiles, kFull, kHalf, kRows>(&kind);
  return kind;
}

template <class Tiles>
const TileKind& kindOf(std::int32_t width) {
#if HWY_TARGET <= HWY_AVX3
  static constexpr TileKind kKinds[] = {tileKind<Tiles, 14, 0, 1>(), tileKind<Tiles, 14, 1, 0>(),
                                        tileKind<Tiles, 14, 1, 1>(), tileKind<Tiles, 14, 2, 0>(),
                                        tileKind<Tiles, 9, 2, 1>(),  tileKind<Tiles, 9, 3, 0>()};
#else
  static constexpr TileKind kKinds[] = {tileKind<Tiles, 8, 1, 0>(), tileKind<Tiles, 6, 2, 0>(),
                                        tileKind<Tiles, 4, 3, 0>()};
#endif
  return kKinds[width / kUnit - 1];
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
