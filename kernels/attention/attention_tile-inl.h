// Pieces of attention that work on vectors of queries, once per Highway target: matrix tiles, exponentials, transposes.
#if defined(IPEX_KERNELS_ATTENTION_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_ATTENTION_TILE_INL_H
#undef IPEX_KERNELS_ATTENTION_TILE_INL_H
#else
#define IPEX_KERNELS_ATTENTION_TILE_INL_H
#endif

#include <algorithm>
#include <cstdint>

#include "kernels/attention/attention_job.h"
#include "kernels/common/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Accumulators must fit the registers: 32 with AVX-512, otherwise 16.
constexpr bool kManyRegisters = HWY_TARGET <= HWY_AVX3;
constexpr int kMaxVectors = kManyRegisters ? 4 : 2;
constexpr int rowsFor(int vectors) { return kManyRegisters ? (vectors == 4 ? 6 : 8) : (vectors == 2 ? 5 : 6); }
constexpr int kMaxRows = 8;

// sum[r][v] += Σ_k rows[r][k·step] · panel[k][v], the panel being `depth` rows of kVectors vectors.
template <int kRows, int kVectors>
HWY_INLINE void multiplyTile(const float* const* rows, std::int64_t step, const float* HWY_RESTRICT panel,
                             std::int64_t depth, VF (&sum)[kRows][kVectors]) {
  const F32 d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const float* row[kRows];
  for (int r = 0; r < kRows; ++r) row[r] = rows[r];
  for (std::int64_t k = 0, at = 0; k < depth; ++k, at += step) {
    VF b[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) b[v] = hn::Load(d, panel + v * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const VF a = hn::Set(d, row[r][at]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(a, b[v], sum[r][v]);
    }
    panel += kVectors * lanes;
  }
}

// e^x for x ≤ 0, 0 below -87.3; keeps NaN. 2^n · 2^r, |r| ≤ ½; error 2 ulp beside the rounding of x·log2(e).
HWY_INLINE VF expNonPositive(VF x) {
  const F32 d;
  const hn::RebindToSigned<F32> di;
  const VF t = hn::Max(hn::Set(d, -127.0f), hn::Mul(x, hn::Set(d, 1.44269504088896341f)));  // NaN: the second wins
  const VF n = hn::Round(t);
  const VF r = hn::Sub(t, n);
  VF p = hn::Set(d, 1.535336188e-4f);
  p = hn::MulAdd(p, r, hn::Set(d, 1.339887440e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 9.618437357e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.550332471e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 2.402264791e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 6.931472028e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  const auto exponent = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, n), hn::Set(di, 127)));
  return hn::Mul(p, hn::BitCast(d, exponent));
}

// The score with its mask applied, as job.mask_use says.
HWY_INLINE VF maskedScore(const AttentionJob& job, VF score, VF mask) {
  const F32 d;
  if (job.mask_use == AttentionJob::MaskUse::kAdd) return hn::Add(score, mask);
  const VF value = hn::Set(d, job.mask_value);
  const auto set = hn::Ne(mask, hn::Zero(d));
  return job.mask_use == AttentionJob::MaskUse::kFill ? hn::IfThenElse(set, value, score)
                                                      : hn::IfThenElse(set, score, value);
}

// dst[c][r] = factor · src[r][c] for `rows` × `columns`; rows of dst are `dst_stride` apart, columns side by side.
HWY_INLINE void transposeInto(const float* src, MatrixStrides from, std::int64_t rows, std::int64_t columns,
                              float factor, float* dst, std::int64_t dst_stride) {
#if HWY_TARGET == HWY_SCALAR
  const std::int64_t whole_rows = 0, whole_columns = 0;
#else
  const hn::FixedTag<float, 4> d4;
  const hn::Repartition<double, decltype(d4)> dd;
  const auto f = hn::Set(d4, factor);
  const std::int64_t whole_rows = from.column == 1 ? rows / 4 * 4 : 0, whole_columns = columns / 4 * 4;
  for (std::int64_t r = 0; r < whole_rows; r += 4) {
    const float* at = src + r * from.row;
    for (std::int64_t c = 0; c < whole_columns; c += 4) {
      const auto a = hn::LoadU(d4, at + c), b = hn::LoadU(d4, at + from.row + c);
      const auto e = hn::LoadU(d4, at + 2 * from.row + c), g = hn::LoadU(d4, at + 3 * from.row + c);
      const auto ab0 = hn::BitCast(dd, hn::InterleaveLower(d4, a, b)),
                 ab1 = hn::BitCast(dd, hn::InterleaveUpper(d4, a, b));
      const auto eg0 = hn::BitCast(dd, hn::InterleaveLower(d4, e, g)),
                 eg1 = hn::BitCast(dd, hn::InterleaveUpper(d4, e, g));
      float* to = dst + c * dst_stride + r;
      hn::StoreU(hn::Mul(f, hn::BitCast(d4, hn::InterleaveLower(dd, ab0, eg0))), d4, to);
      hn::StoreU(hn::Mul(f, hn::BitCast(d4, hn::InterleaveUpper(dd, ab0, eg0))), d4, to + dst_stride);
      hn::StoreU(hn::Mul(f, hn::BitCast(d4, hn::InterleaveLower(dd, ab1, eg1))), d4, to + 2 * dst_stride);
      hn::StoreU(hn::Mul(f, hn::BitCast(d4, hn::InterleaveUpper(dd, ab1, eg1))), d4, to + 3 * dst_stride);
    }
  }
#endif
  for (std::int64_t c = 0; c < columns; ++c) {
    const std::int64_t begin = c < whole_columns ? whole_rows : 0;
    for (std::int64_t r = begin; r < rows; ++r) {
      dst[c * dst_stride + r] = factor * src[r * from.row + c * from.column];
    }
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
