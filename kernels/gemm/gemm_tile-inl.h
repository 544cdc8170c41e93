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

#include "kernels/common/simd-inl.h"
#include "kernels/gemm/packed_gemm.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

template <int kRows, int kFull, int kHalf>
void multiplyTile(const GemmTile& t) {
  using D = hn::ScalableTag<float>;
  using H = hn::Half<D>;
  const D d;
  const H h;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  constexpr int kWidth = kFull * kLanes + kHalf * kLanes / 2;
  hn::Vec<D> sum[kRows][kFull > 0 ? kFull : 1];
  hn::Vec<H> half_sum[kRows];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int f = 0; f < kFull; ++f) sum[r][f] = hn::LoadU(d, t.bias + f * kLanes);
    if (kHalf) half_sum[r] = hn::LoadU(h, t.bias + kFull * kLanes);
  }
  // Prefetches the result's lines while the sums are made: a tile's stores touch each line once, in an order that the
  // hardware does not predict.
  constexpr int kLine = 16;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int i = 0; i < kWidth; i += kLine) hwy::Prefetch(t.lines + r * t.lines_stride + i);
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
      hn::Vec<D> w[kFull > 0 ? kFull : 1];
      hn::Vec<H> half_w;
#pragma GCC unroll 4
      for (int f = 0; f < kFull; ++f) w[f] = hn::LoadU(d, b + f * kLanes);
      if (kHalf) half_w = hn::LoadU(h, b + kFull * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const float x = *reinterpret_cast<const float*>(base[r / 3] + r % 3 * stride);
        if (kFull > 0) {
          const hn::Vec<D> wide = hn::Set(d, x);
#pragma GCC unroll 4
          for (int f = 0; f < kFull; ++f) sum[r][f] = hn::MulAdd(wide, w[f], sum[r][f]);
          if (kHalf) half_sum[r] = hn::MulAdd(hn::LowerHalf(h, wide), half_w, half_sum[r]);
        } else {
          half_sum[r] = hn::MulAdd(hn::Set(h, x), half_w, half_sum[r]);
        }
      }
#pragma GCC unroll 8
      for (int i = 0; i < kBases; ++i) base[i] += sizeof(float);
    }
  }
  if (t.addend != nullptr) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const float* const o = t.addend + r * t.addend_stride;
#pragma GCC unroll 4
      for (int f = 0; f < kFull; ++f) sum[r][f] = hn::Add(sum[r][f], hn::LoadU(d, o + f * kLanes));
      if (kHalf) half_sum[r] = hn::Add(half_sum[r], hn::LoadU(h, o + kFull * kLanes));
    }
  }
  const auto storeAll = [&](const auto& activate) HWY_ATTR {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      float* const c = t.c + r * t.c_stride;
#pragma GCC unroll 4
      for (int f = 0; f < kFull; ++f) hn::StoreU(activate(d, sum[r][f]), d, c + f * kLanes);
      if (kHalf) hn::StoreU(activate(h, half_sum[r]), h, c + kFull * kLanes);
    }
  };
  // Max and Min return their second argument when one is NaN: the value goes second, so NaN stays.
  if (t.activation == GemmActivation::kHardSwish) {
    storeAll([](auto tag, auto v) HWY_ATTR {
      const auto shifted = hn::Add(v, hn::Set(tag, 3.0f));
      const auto gate = hn::Min(hn::Set(tag, 6.0f), hn::Max(hn::Zero(tag), shifted));
      return hn::Mul(hn::Mul(v, gate), hn::Set(tag, 1.0f / 6));
    });
  } else {
    storeAll([low = t.low, high = t.high](auto tag, auto v)
                 HWY_ATTR { return hn::Min(hn::Set(tag, high), hn::Max(hn::Set(tag, low), v)); });
  }
}

constexpr bool kHalfVectors = hn::MaxLanes(F32()) == 16;
constexpr int kUnit = hn::MaxLanes(F32()) / (kHalfVectors ? 2 : 1);  // columns

using TileRun = void (*)(const GemmTile& tile);

// Panels by width in units: rows that the registers take, and the code for each number of rows.
struct TileKind {
  int max_rows = 0;
  TileRun run[kGemmMaxRows + 1] = {};
};

template <int kFull, int kHalf, int kRows>
constexpr void fillRows(TileKind* kind) {
  kind->run[kRows] = &multiplyTile<kRows, kFull, kHalf>;
  if constexpr (kRows > 1) fillRows<kFull, kHalf, kRows - 1>(kind);
}

template <int kRows, int kFull, int kHalf>
constexpr TileKind tileKind() {
  TileKind kind;
  kind.max_rows = kRows;
  fillRows<kFull, kHalf, kRows>(&kind);
  return kind;
}

inline const TileKind& kindOf(std::int32_t width) {
#if HWY_TARGET <= HWY_AVX3
  static constexpr TileKind kKinds[] = {tileKind<14, 0, 1>(), tileKind<14, 1, 0>(), tileKind<14, 1, 1>(),
                                        tileKind<14, 2, 0>(), tileKind<9, 2, 1>(),  tileKind<9, 3, 0>()};
#else
  static constexpr TileKind kKinds[] = {tileKind<8, 1, 0>(), tileKind<6, 2, 0>(), tileKind<4, 3, 0>()};
#endif
  return kKinds[width / kUnit - 1];
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
