// Tiles of products of BF16: pairs of numbers in 32 bits (VNNI-2) stand in the place of floats, and vdpbf16ps adds the
// two products of each pair to a sum in FP32. It takes denormal numbers for 0, as the conversion to bf16 does here.
// Machines without that instruction multiply both halves as floats.
#if defined(IPEX_KERNELS_BF16_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_BF16_TILE_INL_H
#undef IPEX_KERNELS_BF16_TILE_INL_H
#else
#define IPEX_KERNELS_BF16_TILE_INL_H
#endif

#include <cstring>

#include "kernels/common/bf16-inl.h"
#include "kernels/common/simd-inl.h"
#include "kernels/common/smooth_activation-inl.h"
#include "kernels/gemm/gemm_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

template <bool kNative>
struct PairProducts {
  template <class V>
  static HWY_INLINE V add(V x, V w, V sum) {
    if constexpr (kNative) {
      return addProductsOfPairs(x, w, sum);
    } else {
      const hn::DFromV<V> d;
      const hn::RebindToUnsigned<decltype(d)> words;
      const auto a = hn::BitCast(words, x), b = hn::BitCast(words, w);
      sum = hn::MulAdd(lowerOfPairs(d, a), lowerOfPairs(d, b), sum);
      return hn::MulAdd(upperOfPairs(d, a), upperOfPairs(d, b), sum);
    }
  }
};

template <bool kNative, int kRows, int kFull, int kHalf>
void multiplyPairs(const GemmTile& t) {
  VF sum[kRows][kFull > 0 ? kFull : 1];
  HalfVF half_sum[kRows];
  constexpr std::int64_t kLineBytes = kPanelWidth<kFull, kHalf> * sizeof(std::uint16_t);
  sumTile<kRows, kFull, kHalf, PairProducts<kNative>>(t, kLineBytes, sum, half_sum);
  if (t.addend != nullptr && t.addend_type == DType::kBf16) {
    addToTile<kRows, kFull, kHalf, std::uint16_t>(t, sum, half_sum);
  } else if (t.addend != nullptr) {
    addToTile<kRows, kFull, kHalf, float>(t, sum, half_sum);
  }
  if (t.c_type == DType::kF32) return storeTile<kRows, kFull, kHalf>(t, sum, half_sum);
  auto* const c = static_cast<std::uint16_t*>(t.c);
  storeActivated<kRows, kFull, kHalf>(t, sum, half_sum, [&](auto tag, auto v, int r, int column) HWY_ATTR {
    storeNarrow<kNative>(tag, v, c + r * t.c_stride + column);
  });
}

template <bool kNative>
struct PairTiles {
  template <int kRows, int kFull, int kHalf>
  static constexpr void (*kRun)(const GemmTile&) = &multiplyPairs<kNative, kRows, kFull, kHalf>;

  static std::int64_t elementOf(DType dtype) { return elementBytes(dtype); }

  // Converts `columns` values of each of `rows` rows.
  static void storeRows(const float* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns,
                        DType result, char* to, std::int64_t to_stride) {
    if (result == DType::kF32) return FloatTiles::storeRows(from, from_stride, rows, columns, result, to, to_stride);
    storeChanged(from, from_stride, rows, columns, reinterpret_cast<std::uint16_t*>(to), to_stride,
                 [](VF v) HWY_ATTR { return v; });
  }

  // Likewise, with an activation on the way.
  static void storeActivatedRows(const SmoothActivation& activation, const float* from, std::int64_t from_stride,
                                 std::int64_t rows, std::int64_t columns, std::uint16_t* to, std::int64_t to_stride) {
    storeChanged(from, from_stride, rows, columns, to, to_stride, SmoothActivationV(activation));
  }

 private:
  // change(VF) gives the vector that is stored.
  template <class Change>
  static void storeChanged(const float* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns,
                           std::uint16_t* to, std::int64_t to_stride, const Change& change) {
    const F32 d;
    constexpr std::int64_t kLanes = hn::MaxLanes(d);
    for (std::int64_t r = 0; r < rows; ++r, from += from_stride, to += to_stride) {
      std::int64_t i = 0;
      for (; i + kLanes <= columns; i += kLanes) storeNarrow<kNative>(d, change(hn::LoadU(d, from + i)), to + i);
      if (i == columns) continue;
      std::uint16_t rest[kLanes];
      storeNarrow<kNative>(d, change(loadFirst(from + i, columns - i)), rest);
      std::memcpy(to + i, rest, static_cast<std::size_t>(columns - i) * sizeof(*to));
    }
  }
};

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
