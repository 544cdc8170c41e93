// Attention of one query, as a step of a decoder needs it, with vectors along depth, keys and width, once per Highway
// target. Bound by reading k and v once.
#if defined(IPEX_KERNELS_ATTENTION_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_ATTENTION_ROWS_INL_H
#undef IPEX_KERNELS_ATTENTION_ROWS_INL_H
#else
#define IPEX_KERNELS_ATTENTION_ROWS_INL_H
#endif

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/attention/attention_job.h"
#include "kernels/attention/attention_tile-inl.h"
#include "kernels/common/byte_convert-inl.h"
#include "kernels/common/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Writes the values of one query as a row of the result, in its type.
inline void storeResult(const AttentionJob& job, const float* values, void* row) {
  const auto count = static_cast<std::size_t>(job.width);
  switch (job.y_type) {
    case DType::kU8:
      return scaleToBytes(values, job.y_factor, job.y_offset, static_cast<std::uint8_t*>(row), count);
    case DType::kS8:
      return scaleToBytes(values, job.y_factor, job.y_offset, static_cast<std::int8_t*>(row), count);
    default:
      return downconvertValues(job.y_type, values, row, count);
  }
}

inline void* resultRow(const AttentionJob& job, const AttentionOperands& at, std::int64_t query) {
  return static_cast<char*>(at.y) + query * job.y.row * static_cast<std::int64_t>(elementBytes(job.y_type));
}

// q·k for kKeys keys that lie `distance` apart.
template <int kKeys, class K>
HWY_INLINE void dotKeys(const float* q, const K* k, std::int64_t distance, std::int64_t depth, float* scores) {
  const F32 d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  VF sum[kKeys];
#pragma GCC unroll 8
  for (int i = 0; i < kKeys; ++i) sum[i] = hn::Zero(d);
  std::int64_t e = 0;
  for (; e + lanes <= depth; e += lanes) {
    const VF x = hn::LoadU(d, q + e);
#pragma GCC unroll 8
    for (int i = 0; i < kKeys; ++i) sum[i] = hn::MulAdd(x, loadFloats(d, k + i * distance + e), sum[i]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < kKeys; ++i) scores[i] = hn::GetLane(hn::SumOfLanes(d, sum[i]));
  for (; e < depth; ++e) {
    for (int i = 0; i < kKeys; ++i) scores[i] += q[e] * loadFloat(k + i * distance + e);
  }
}

// Replaces each score by e^(score - maximum) and returns the sum; sets the maximum, 0 where all are -inf. The memory
// behind `count` must be filled up to whole vectors.
inline float exponentialsOfRow(float* scores, std::int64_t count, float* maximum) {
  const F32 d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t padded = (count + lanes - 1) / lanes * lanes;
  std::fill(scores + count, scores + padded, -std::numeric_limits<float>::infinity());
  VF highest = hn::Load(d, scores);
  for (std::int64_t i = lanes; i < padded; i += lanes) highest = hn::Max(hn::Load(d, scores + i), highest);
  const float most = hn::GetLane(hn::MaxOfLanes(d, highest));
  *maximum = most == -std::numeric_limits<float>::infinity() ? 0.0f : most;
  const VF top = hn::Set(d, *maximum);
  VF sum = hn::Zero(d);
  for (std::int64_t i = 0; i < padded; i += lanes) {
    const VF e = expNonPositive(hn::Sub(hn::Load(d, scores + i), top));
    sum = hn::Add(sum, e);
    hn::Store(e, d, scores + i);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

// y = factor · Σ weights[key] · v[key] for kVectors vectors of columns.
template <int kVectors, class V>
HWY_INLINE void weightRows(const float* weights, const V* v, std::int64_t row, std::int64_t keys, float factor,
                           float* y) {
  const F32 d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  VF even[kVectors], odd[kVectors];
#pragma GCC unroll 4
  for (int i = 0; i < kVectors; ++i) even[i] = odd[i] = hn::Zero(d);
  std::int64_t key = 0;
  for (; key + 2 <= keys; key += 2, v += 2 * row) {
    const VF a = hn::Set(d, weights[key]), b = hn::Set(d, weights[key + 1]);
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) {
      even[i] = hn::MulAdd(a, loadFloats(d, v + i * lanes), even[i]);
      odd[i] = hn::MulAdd(b, loadFloats(d, v + row + i * lanes), odd[i]);
    }
  }
  if (key < keys) {
    const VF a = hn::Set(d, weights[key]);
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) even[i] = hn::MulAdd(a, loadFloats(d, v + i * lanes), even[i]);
  }
  const VF f = hn::Set(d, factor);
#pragma GCC unroll 4
  for (int i = 0; i < kVectors; ++i) hn::StoreU(hn::Mul(f, hn::Add(even[i], odd[i])), d, y + i * lanes);
}

// Computes one query of one head. The innermost axes of k and v have stride 1. scratch: attentionRowFloats() floats.
template <class Q, class K, class V>
void attendRow(const AttentionJob& job, const AttentionOperands& at, std::int64_t query, float* scratch) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(F32()));
  const auto whole = [lanes](std::int64_t floats) { return (floats + lanes - 1) / lanes * lanes; };
  const std::int64_t keys = job.causal ? std::min(job.keys, query + 1) : job.keys;
  float* const scores = scratch;
  float* const q = scratch + whole(job.keys);
  float* const y = q + whole(job.depth);
  const Q* const from = static_cast<const Q*>(at.q) + query * job.q.row;
  const K* const k = static_cast<const K*>(at.k);
  const V* const v = static_cast<const V*>(at.v);
  for (std::int64_t e = 0; e < job.depth; ++e) q[e] = job.scale * loadFloat(from + e * job.q.column);
  constexpr int kTogether = 4;
  std::int64_t key = 0;
  for (; key + kTogether <= keys; key += kTogether)
    dotKeys<kTogether>(q, k + key * job.k.row, job.k.row, job.depth, scores + key);
  for (; key < keys; ++key) dotKeys<1>(q, k + key * job.k.row, 0, job.depth, scores + key);
  if (job.has_mask) {
    const float* mask = at.mask + query * job.mask.row;
    for (key = 0; key < keys; ++key) {
      const float m = mask[key * job.mask.column];
      const bool filled = (m != 0) == (job.mask_use == AttentionJob::MaskUse::kFill);
      scores[key] = job.mask_use == AttentionJob::MaskUse::kAdd ? scores[key] + m
                    : filled                                    ? job.mask_value
                                                                : scores[key];
    }
  }
  float maximum;
  const float total = exponentialsOfRow(scores, keys, &maximum);
  if (at.logarithms != nullptr) at.logarithms[query] = maximum + std::log(total);
  const float factor = at.logarithms != nullptr && total == 0 ? 0.0f : 1.0f / total;
  std::int64_t column = 0;
  for (; column + 4 * lanes <= job.width; column += 4 * lanes)
    weightRows<4>(scores, v + column, job.v.row, keys, factor, y + column);
  for (; column + lanes <= job.width; column += lanes)
    weightRows<1>(scores, v + column, job.v.row, keys, factor, y + column);
  for (; column < job.width; ++column) {
    float sum = 0;
    for (key = 0; key < keys; ++key) sum += scores[key] * loadFloat(v + key * job.v.row + column);
    y[column] = factor * sum;
  }
  storeResult(job, y, resultRow(job, at, query));
}

// Items are queries; those of one head are neighbours.
template <class Q, class K, class V>
void attendRows(const AttentionJob& job, const AttentionOperands& all, std::int64_t begin, std::int64_t end,
                float* scratch) {
  for (std::int64_t item = begin; item < end; ++item) {
    attendRow<Q, K, V>(job, operandsOfHead(job, all, item / job.queries), item % job.queries, scratch);
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
