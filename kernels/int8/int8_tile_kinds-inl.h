// Chooses the code that sums tiles of a panel, by its width and by how the tile ends.
#if defined(IPEX_KERNELS_INT8_TILE_KINDS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_INT8_TILE_KINDS_INL_H
#undef IPEX_KERNELS_INT8_TILE_KINDS_INL_H
#else
#define IPEX_KERNELS_INT8_TILE_KINDS_INL_H
#endif

#include "kernels/gemm/gemm_rows-inl.h"
#include "kernels/int8/int8_quantized_tile-inl.h"
#include "kernels/int8/int8_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

constexpr bool kHalfVectors = hn::MaxLanes(F32()) == 16;
constexpr int kUnit = hn::MaxLanes(F32()) / (kHalfVectors ? 2 : 1);  // columns

using TileRun = void (*)(const Int8Tile& tile);

// Panels by width in units: rows that the registers take, and the code for each number of rows.
struct TileKind {
  int max_rows = 0;
  TileRun run[kGemmMaxRows + 1] = {};
};

template <bool kVnni, int kFull, int kHalf, int kRows>
constexpr void fillRows(TileKind* kind) {
  kind->run[kRows] = &multiplyBytes<kRows, kFull, kHalf, kVnni>;
  if constexpr (kRows > 1) fillRows<kVnni, kFull, kHalf, kRows - 1>(kind);
}

template <bool kVnni, int kRows, int kFull, int kHalf>
constexpr TileKind tileKind() {
  TileKind kind;
  kind.max_rows = kRows;
  fillRows<kVnni, kFull, kHalf, kRows>(&kind);
  return kind;
}

template <bool kVnni>
const TileKind& kindOf(std::int32_t width) {
#if HWY_TARGET <= HWY_AVX3
  // Without VNNI weights have 16 bits here and take twice the registers.
  static constexpr TileKind kKinds[] = {tileKind<kVnni, 14, 0, 1>(),
                                        tileKind<kVnni, 14, 1, 0>(),
                                        tileKind < kVnni,
                                        kVnni ? 14 : 10,
                                        1,
                                        1 > (),
                                        tileKind < kVnni,
                                        kVnni ? 14 : 12,
                                        2,
                                        0 > (),
                                        tileKind < kVnni,
                                        kVnni ? 9 : 7,
                                        2,
                                        1 > (),
                                        tileKind < kVnni,
                                        kVnni ? 9 : 7,
                                        3,
                                        0 > ()};
#else
  static constexpr TileKind kKinds[] = {tileKind<kVnni, 8, 1, 0>(), tileKind<kVnni, 4, 2, 0>(),
                                        tileKind<kVnni, 2, 3, 0>()};
#endif
  return kKinds[width / kUnit - 1];
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
template <int kVectors, int kRows, bool kFetch>
constexpr void fillQuantizedRows(TileKind* kind) {
  kind->run[kRows] = &multiplyToQuantized<kRows, kVectors, kFetch>;
  if constexpr (kRows > 1) fillQuantizedRows<kVectors, kRows - 1, kFetch>(kind);
}

template <int kRows, int kVectors, bool kFetch = false>
constexpr TileKind quantizedKind() {
  TileKind kind;
  kind.max_rows = kRows;
  fillQuantizedRows<kVectors, kRows, kFetch>(&kind);
  return kind;
}

inline const TileKind& quantizedKindOf(std::int32_t width, bool fetches) {
  static constexpr TileKind kKinds[] = {quantizedKind<14, 1>(), quantizedKind<14, 2>(), quantizedKind<9, 3>(),
                                        quantizedKind<6, 4>(), quantizedKind<6, 4, true>()};
  const std::int32_t vectors = width / kQuantizedLanes;
  return kKinds[vectors == kPackedVectors && fetches ? vectors : vectors - 1];
}

template <int kRows>
constexpr void fillTapRows(TileKind* kind) {
  kind->run[kRows] = &multiplyTaps<kRows, 2>;
  if constexpr (kRows > kMinTapRows) fillTapRows<kRows - 1>(kind);
}

constexpr TileKind tapKind() {
  TileKind kind;
  kind.max_rows = kGemmMaxRows;
  fillTapRows<kGemmMaxRows>(&kind);
  return kind;
}
#endif

template <bool kVnni>
const TileKind& kindFor(const Int8GemmJob& job, const GemmPanel& panel, bool fetches) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if (kVnni && job.quantized) return quantizedKindOf(panel.width, fetches);
#endif
  static_cast<void>(job);
  static_cast<void>(fetches);
  return kindOf<kVnni>(panel.width);
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
