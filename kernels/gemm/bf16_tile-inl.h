// Tiles of products of BF16: pairs of numbers in 32 bits (VNNI-2) stand in the place of floats, and vdpbf16ps adds the
// two products of each pair to a sum in FP32. It takes denormal numbers for 0, as the conversion to bf16 does here.
// Where that instruction is missing, both halves become floats.
#if defined(IPEX_KERNELS_BF16_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_BF16_TILE_INL_H
#undef IPEX_KERNELS_BF16_TILE_INL_H
#else
#define IPEX_KERNELS_BF16_TILE_INL_H
#endif

#include <cstring>

#include "kernels/common/bf16-inl.h"
#include "kernels/common/simd-inl.h"
#include "kernels/gemm/gemm_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Assembly, because machines may have the instructions without the features of a Highway target that has them.
template <bool kNative>
struct PairProducts {
  template <class V>
  static HWY_INLINE V add(V x, V w, V sum) {
    if constexpr (kNative) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
      asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(x.raw), "v"(w.raw));
#endif
      return sum;
    } else {
      const hn::DFromV<V> d;
      return hn::MulAdd(upper(d, x), upper(d, w), hn::MulAdd(lower(d, x), lower(d, w), sum));
    }
  }

 private:
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE V lower(D d, V pair) {
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::BitCast(hn::RebindToUnsigned<D>(), pair)));
  }
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE V upper(D d, V pair) {
    const hn::RebindToUnsigned<D> words;
    return hn::BitCast(d, hn::And(hn::BitCast(words, pair), hn::Set(words, 0xFFFF0000u)));
  }
};

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

template <bool kNative, int kRows, int kFull, int kHalf>
void multiplyPairs(const GemmTile& t) {
  VF sum[kRows][kFull > 0 ? kFull : 1];
  HalfVF half_sum[kRows];
  constexpr std::int64_t kLineBytes = kPanelWidth<kFull, kHalf> * sizeof(std::uint16_t);
  sumTile<kRows, kFull, kHalf, PairProducts<kNative>>(t, kLineBytes, sum, half_sum);
  if (t.addend != nullptr && t.addend_type == DType::kBf16) {
    const auto* const addend = static_cast<const std::uint16_t*>(t.addend);
    forTileVectors<kRows, kFull, kHalf>(sum, half_sum, [&](auto tag, auto& v, int r, int column) HWY_ATTR {
      v = hn::Add(v, loadFloats(tag, addend + r * t.addend_stride + column));
    });
  } else if (t.addend != nullptr) {
    const auto* const addend = static_cast<const float*>(t.addend);
    forTileVectors<kRows, kFull, kHalf>(sum, half_sum, [&](auto tag, auto& v, int r, int column) HWY_ATTR {
      v = hn::Add(v, hn::LoadU(tag, addend + r * t.addend_stride + column));
    });
  }
  if (t.c_type == DType::kBf16) {
    auto* const c = static_cast<std::uint16_t*>(t.c);
    storeActivated<kRows, kFull, kHalf>(t, sum, half_sum, [&](auto tag, auto v, int r, int column) HWY_ATTR {
      storeNarrow<kNative>(tag, v, c + r * t.c_stride + column);
    });
  } else {
    auto* const c = static_cast<float*>(t.c);
    storeActivated<kRows, kFull, kHalf>(t, sum, half_sum, [&](auto tag, auto v, int r, int column) HWY_ATTR {
      hn::StoreU(v, tag, c + r * t.c_stride + column);
    });
  }
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
    const F32 d;
    constexpr std::int64_t kLanes = hn::MaxLanes(d);
    for (std::int64_t r = 0; r < rows; ++r) {
      auto* const out = reinterpret_cast<std::uint16_t*>(to) + r * to_stride;
      const float* const in = from + r * from_stride;
      std::int64_t i = 0;
      for (; i + kLanes <= columns; i += kLanes) storeNarrow<kNative>(d, hn::LoadU(d, in + i), out + i);
      for (; i < columns; ++i) out[i] = floatToBf16(in[i]);
    }
  }
};

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
