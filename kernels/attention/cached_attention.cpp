// Shares texts, queries and key heads among threads; the plain version in double precision.
#include "kernels/attention/cached_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/runtime/device.h"
#include "core/runtime/machine_facts.h"
#include "kernels/attention/attention_job.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

template <typename T, typename C>
CachedRun<T, C> cachedRun() {
  if constexpr (std::is_same_v<T, float>) {
    static const CachedRun<T, C> simd = cachedAttentionSimd<C>(machineFacts().isa);
    return simd;
  } else {
    return cachedAttentionRef;
  }
}

}  // namespace

std::int64_t cachedScratchFloats(const CachedJob& job, std::int64_t keys) {
  return job.group * (AttentionRoom::whole(keys) + AttentionRoom::whole(job.depth));
}

template <typename T, typename C>
void attendToCache(const CachedJob& job, const CachedOperands<T, C>& from, T* y, std::int32_t threads) {
  const CachedRun<T, C> run = cachedRun<T, C>();
  const std::int64_t rows = job.texts * job.queries;
  const std::int64_t keys = rows == 0 ? 0 : *std::max_element(job.lengths, job.lengths + rows);
  const std::int64_t room = cachedScratchFloats(job, keys);
  const Buffer scratch(static_cast<std::size_t>(std::max<std::int64_t>(1, room * threads)) * sizeof(T));
  const std::int64_t grain = grainFor(keys * job.group * (job.depth + job.width) / 8);
  parallelFor(rows * job.key_heads, grain, threads, [&](std::int64_t begin, std::int64_t end, int thread) {
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t row = item / job.key_heads, head = item % job.key_heads;
      run(job, from, row / job.queries, row % job.queries, head,
          y + (row * job.queryHeads() + head * job.group) * job.width, static_cast<T*>(scratch.data()) + thread * room);
    }
  });
}

template void attendToCache<float, float>(const CachedJob&, const CachedOperands<float, float>&, float*, std::int32_t);
template void attendToCache<float, std::uint16_t>(const CachedJob&, const CachedOperands<float, std::uint16_t>&, float*,
                                                  std::int32_t);
template void attendToCache<double, double>(const CachedJob&, const CachedOperands<double, double>&, double*,
                                            std::int32_t);

void cachedAttentionRef(const CachedJob& job, const CachedOperands<double, double>& from, std::int64_t text,
                        std::int64_t query, std::int64_t key_head, double* y, double* scratch) {
  constexpr double kNoKey = -std::numeric_limits<double>::infinity();
  const std::int64_t length = job.lengths[text * job.queries + query];
  const std::int64_t first = job.window > 0 ? std::max<std::int64_t>(0, length - job.window) : 0;
  const std::int64_t *const k = job.k_places + text * job.places_stride, *const v =
                                                                             job.v_places + text * job.places_stride;
  for (std::int64_t head = key_head * job.group; head < (key_head + 1) * job.group; ++head, y += job.width) {
    const double* const q = from.q + text * job.q_text + query * job.q_query + head * job.q_head;
    double highest = kNoKey, sum = 0;
    for (std::int64_t key = first; key < length; ++key) {
      double score = 0;
      for (std::int64_t e = 0; e < job.depth; ++e) score += q[e] * from.k[k[key] + key_head * job.k_head + e];
      score *= job.scale;
      if (job.softcap > 0) score = job.softcap * std::tanh(score / job.softcap);
      if (from.slopes != nullptr) score += from.slopes[head] * static_cast<double>(key - length + 1);
      if (from.mask != nullptr)
        score += from.mask[text * from.mask_text + head * from.mask_head + query * from.mask_query + key];
      scratch[key] = score;
      highest = std::max(highest, score);
    }
    std::fill(y, y + job.width, 0.0);
    if (highest == kNoKey) continue;
    for (std::int64_t key = first; key < length; ++key) sum += scratch[key] = std::exp(scratch[key] - highest);
    for (std::int64_t key = first; key < length; ++key) {
      for (std::int64_t e = 0; e < job.width; ++e)
        y[e] += scratch[key] / sum * from.v[v[key] + key_head * job.v_head + e];
    }
  }
}

}  // namespace ipex_studio
