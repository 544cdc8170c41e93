// One query against scattered keys and values. The heads that share a key head go together, so each key and value is
// read from memory once. Bound by that reading.
#define HWY_TARGET_INCLUDE "kernels/attention/cached_attention_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>
#include <cmath>

#include "kernels/attention/attention_rows-inl.h"
#include "kernels/attention/cached_attention.h"
#include "kernels/common/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

constexpr int kKeysTogether = 4;

// q·k for kKeys keys at `keys`.
template <int kKeys, class C>
HWY_INLINE void dotScattered(const float* q, const C* const* keys, std::int64_t depth, float* scores) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  VF sum[kKeys];
#pragma GCC unroll 4
  for (int i = 0; i < kKeys; ++i) sum[i] = hn::Zero(d);
  std::int64_t e = 0;
  for (; e + lanes <= depth; e += lanes) {
    const VF x = hn::LoadU(d, q + e);
#pragma GCC unroll 4
    for (int i = 0; i < kKeys; ++i) sum[i] = hn::MulAdd(x, loadFloats(d, keys[i] + e), sum[i]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < kKeys; ++i) scores[i] = hn::GetLane(hn::SumOfLanes(d, sum[i]));
  for (; e < depth; ++e) {
    for (int i = 0; i < kKeys; ++i) scores[i] += q[e] * loadFloat(keys[i] + e);
  }
}

// y = factor · Σ weights[key] · v[places[key]] for kVectors vectors of columns.
template <int kVectors, class C>
HWY_INLINE void weightScattered(const float* weights, const C* v, const std::int64_t* places, std::int64_t keys,
                                float factor, float* y) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  VF even[kVectors], odd[kVectors];
#pragma GCC unroll 4
  for (int i = 0; i < kVectors; ++i) even[i] = odd[i] = hn::Zero(d);
  std::int64_t key = 0;
  for (; key + 2 <= keys; key += 2) {
    const VF a = hn::Set(d, weights[key]), b = hn::Set(d, weights[key + 1]);
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) {
      even[i] = hn::MulAdd(a, loadFloats(d, v + places[key] + i * lanes), even[i]);
      odd[i] = hn::MulAdd(b, loadFloats(d, v + places[key + 1] + i * lanes), odd[i]);
    }
  }
  if (key < keys) {
    const VF a = hn::Set(d, weights[key]);
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) even[i] = hn::MulAdd(a, loadFloats(d, v + places[key] + i * lanes), even[i]);
  }
  const VF f = hn::Set(d, factor);
#pragma GCC unroll 4
  for (int i = 0; i < kVectors; ++i) hn::StoreU(hn::Mul(f, hn::Add(even[i], odd[i])), d, y + i * lanes);
}

// Adds to the scores of one head all that is not a product. Scores beyond `count` are overwritten.
HWY_INLINE void finishScores(const CachedJob& job, float* scores, std::int64_t count, const float* mask, float slope,
                             std::int64_t before_last) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (job.softcap > 0) {
    const VF cap = hn::Set(d, static_cast<float>(job.softcap)),
             inverse = hn::Set(d, static_cast<float>(1 / job.softcap));
    std::fill(scores + count, scores + AttentionRoom::whole(count), 0.0f);
    for (std::int64_t i = 0; i < count; i += lanes)
      hn::Store(hn::Mul(cap, tanhV(d, hn::Mul(inverse, hn::Load(d, scores + i)))), d, scores + i);
  }
  if (slope != 0) {
    for (std::int64_t i = 0; i < count; ++i) scores[i] += slope * static_cast<float>(i - before_last);
  }
  if (mask != nullptr) {
    for (std::int64_t i = 0; i < count; ++i) scores[i] += mask[i];
  }
}

template <class C>
void attendScattered(const CachedJob& job, const CachedOperands<float, C>& from, std::int64_t text, std::int64_t query,
                     std::int64_t key_head, float* y, float* scratch) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(F32()));
  const std::int64_t length = job.lengths[text * job.queries + query];
  const std::int64_t first = job.window > 0 ? std::max<std::int64_t>(0, length - job.window) : 0,
                     count = length - first;
  if (count <= 0) {
    std::fill(y, y + job.group * job.width, 0.0f);
    return;
  }
  const std::int64_t *const k_places = job.k_places + text * job.places_stride + first, *const v_places =
                                                                                            job.v_places +
                                                                                            text * job.places_stride +
                                                                                            first;
  const C *const k = from.k + key_head * job.k_head, *const v = from.v + key_head * job.v_head;
  const std::int64_t row = AttentionRoom::whole(count), q_row = AttentionRoom::whole(job.depth);
  float* const scores = scratch;
  float* const queries = scores + job.group * row;
  for (std::int64_t g = 0; g < job.group; ++g) {
    const float* const q = from.q + text * job.q_text + query * job.q_query + (key_head * job.group + g) * job.q_head;
    for (std::int64_t e = 0; e < job.depth; ++e) queries[g * q_row + e] = static_cast<float>(job.scale) * q[e];
  }
  std::int64_t key = 0;
  for (; key + kKeysTogether <= count; key += kKeysTogether) {
    const C* keys[kKeysTogether];
    for (int i = 0; i < kKeysTogether; ++i) keys[i] = k + k_places[key + i];
    for (std::int64_t g = 0; g < job.group; ++g)
      dotScattered<kKeysTogether>(queries + g * q_row, keys, job.depth, scores + g * row + key);
  }
  for (; key < count; ++key) {
    const C* const one = k + k_places[key];
    for (std::int64_t g = 0; g < job.group; ++g)
      dotScattered<1>(queries + g * q_row, &one, job.depth, scores + g * row + key);
  }
  for (std::int64_t g = 0; g < job.group; ++g, y += job.width) {
    const std::int64_t head = key_head * job.group + g;
    float* const of_head = scores + g * row;
    finishScores(job, of_head, count,
                 from.mask != nullptr
                     ? from.mask + text * from.mask_text + head * from.mask_head + query * from.mask_query + first
                     : nullptr,
                 from.slopes != nullptr ? from.slopes[head] : 0.0f, count - 1);
    float maximum;
    const float total = exponentialsOfRow(of_head, count, &maximum);
    const float factor = total == 0 ? 0.0f : 1.0f / total;
    std::int64_t column = 0;
    for (; column + 4 * lanes <= job.width; column += 4 * lanes)
      weightScattered<4>(of_head, v + column, v_places, count, factor, y + column);
    for (; column + lanes <= job.width; column += lanes)
      weightScattered<1>(of_head, v + column, v_places, count, factor, y + column);
    for (; column < job.width; ++column) {
      float sum = 0;
      for (key = 0; key < count; ++key) sum += of_head[key] * loadFloat(v + v_places[key] + column);
      y[column] = factor * sum;
    }
  }
}

void attendScatteredF32(const CachedJob& job, const CachedOperands<float, float>& from, std::int64_t text,
                        std::int64_t query, std::int64_t key_head, float* y, float* scratch) {
  attendScattered<float>(job, from, text, query, key_head, y, scratch);
}

void attendScatteredBf16(const CachedJob& job, const CachedOperands<float, std::uint16_t>& from, std::int64_t text,
                         std::int64_t query, std::int64_t key_head, float* y, float* scratch) {
  attendScattered<std::uint16_t>(job, from, text, query, key_head, y, scratch);
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ipex_studio {

HWY_EXPORT(attendScatteredF32);
HWY_EXPORT(attendScatteredBf16);

template <>
CachedRun<float, float> cachedAttentionSimd<float>(const std::string& isa) {
  return IPEX_SELECT_TARGET(attendScatteredF32, isa);
}

template <>
CachedRun<float, std::uint16_t> cachedAttentionSimd<std::uint16_t>(const std::string& isa) {
  return IPEX_SELECT_TARGET(attendScatteredBf16, isa);
}

}  // namespace ipex_studio

#endif  // HWY_ONCE
