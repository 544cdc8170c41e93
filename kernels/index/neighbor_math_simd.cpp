// Arithmetic on the neighbours of some rows of a sparse matrix, FP32. Features of a result stay in registers over all
// its entries; what later entries read is fetched meanwhile.
#define HWY_TARGET_INCLUDE "kernels/index/neighbor_math_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <hwy/cache_control.h>

#include <algorithm>

#include "kernels/common/partial_vector-inl.h"
#include "kernels/index/neighbor_math.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

using NeighborJobF32 = NeighborJob<float>;

constexpr std::int64_t kEntriesAhead = 12;

// Some features of one row: `count` from `feature` on, which are kVectors vectors, all with the values of `group`.
struct NeighborColumns {
  std::int64_t row, feature, count, group;
};

// Memory of `kVectors` vectors, of which the last may be partial.
template <int kVectors, bool kPartial>
struct VectorRun {
  static HWY_INLINE VF load(const float* from, int v, std::int64_t count) {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(F32()));
    if (kPartial && v == kVectors - 1) return loadFirst(from + v * lanes, count - v * lanes);
    return hn::LoadU(F32(), from + v * lanes);
  }
  static HWY_INLINE void store(VF value, float* to, int v, std::int64_t count) {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(F32()));
    if (kPartial && v == kVectors - 1) {
      storeFirst(value, to + v * lanes, count - v * lanes);
    } else {
      hn::StoreU(value, F32(), to + v * lanes);
    }
  }
};

HWY_INLINE float entryValue(const NeighborJobF32& job, std::int64_t entry, std::int64_t group) {
  return job.values.data == nullptr ? 1.0f : job.values.data[job.matrix->placeOf(entry) * job.values.groups + group];
}

HWY_INLINE void fetchAhead(const NeighborJobF32& job, std::int64_t entry, std::int64_t last,
                           const NeighborColumns& at) {
  const std::int64_t ahead = std::min(entry + kEntriesAhead, last);
  const float* const next = job.x + job.matrix->columns[ahead] * job.width + at.feature;
  constexpr std::int64_t kLine = 16;  // floats
  for (std::int64_t e = 0; e < at.count; e += kLine) hwy::Prefetch(next + e);
}

struct SumOfColumns {
  static constexpr int kVectorLimit = 8;

  template <int kVectors, bool kPartial>
  static HWY_INLINE void run(const NeighborJobF32& job, const NeighborColumns& at) {
    using Run = VectorRun<kVectors, kPartial>;
    const F32 d;
    const std::int64_t first = job.matrix->begins[at.row], end = job.matrix->begins[at.row + 1],
                       last = job.matrix->entries() - 1;
    VF sum[kVectors];
    for (int v = 0; v < kVectors; ++v) sum[v] = hn::Zero(d);
    for (std::int64_t e = first; e < end; ++e) {
      fetchAhead(job, e, last, at);
      const float* const from = job.x + job.matrix->columns[e] * job.width + at.feature;
      const VF value = hn::Set(d, entryValue(job, e, at.group));
      for (int v = 0; v < kVectors; ++v) sum[v] = hn::MulAdd(value, Run::load(from, v, at.count), sum[v]);
    }
    float* const to = job.out + at.row * job.width + at.feature;
    const VF number = hn::Set(d, static_cast<float>(std::max<std::int64_t>(1, end - first)));
    for (int v = 0; v < kVectors; ++v) Run::store(job.mean ? hn::Div(sum[v], number) : sum[v], to, v, at.count);
  }
};

struct ExtremesOfColumns {
  static constexpr int kVectorLimit = 4;

  template <int kVectors, bool kPartial>
  static HWY_INLINE void run(const NeighborJobF32& job, const NeighborColumns& at) {
    using Run = VectorRun<kVectors, kPartial>;
    const F32 d;
    const hn::RebindToSigned<F32> di;
    const std::int64_t first = job.matrix->begins[at.row], end = job.matrix->begins[at.row + 1],
                       last = job.matrix->entries() - 1;
    // Minima are the maxima of negative values.
    const VF sign = hn::Set(d, job.minima ? -1.0f : 1.0f);
    VF best[kVectors], winner[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      best[v] = hn::Zero(d);
      winner[v] = hn::BitCast(d, hn::Set(di, -1));
    }
    for (std::int64_t e = first; e < end; ++e) {
      fetchAhead(job, e, last, at);
      const float* const from = job.x + job.matrix->columns[e] * job.width + at.feature;
      const VF value = hn::Mul(sign, hn::Set(d, entryValue(job, e, at.group)));
      const VF place = hn::BitCast(d, hn::Set(di, static_cast<std::int32_t>(job.matrix->placeOf(e))));
      for (int v = 0; v < kVectors; ++v) {
        const VF candidate = hn::Mul(value, Run::load(from, v, at.count));
        if (e == first) {
          best[v] = candidate;
          winner[v] = place;
          continue;
        }
        const auto better = hn::AndNot(hn::IsNaN(best[v]), hn::Or(hn::Gt(candidate, best[v]), hn::IsNaN(candidate)));
        best[v] = hn::IfThenElse(better, candidate, best[v]);
        winner[v] = hn::IfThenElse(better, place, winner[v]);
      }
    }
    const std::int64_t to = at.row * job.width + at.feature;
    for (int v = 0; v < kVectors; ++v) {
      Run::store(job.minima && end > first ? hn::Neg(best[v]) : best[v], job.out + to, v, at.count);
      if (job.winners != nullptr) Run::store(winner[v], reinterpret_cast<float*>(job.winners) + to, v, at.count);
    }
  }
};

struct WonSumOfColumns {
  static constexpr int kVectorLimit = 4;

  template <int kVectors, bool kPartial>
  static HWY_INLINE void run(const NeighborJobF32& job, const NeighborColumns& at) {
    using Run = VectorRun<kVectors, kPartial>;
    const F32 d;
    const hn::RebindToSigned<F32> di;
    const std::int64_t last = job.matrix->entries() - 1;
    VF sum[kVectors];
    for (int v = 0; v < kVectors; ++v) sum[v] = hn::Zero(d);
    for (std::int64_t e = job.matrix->begins[at.row]; e < job.matrix->begins[at.row + 1]; ++e) {
      fetchAhead(job, e, last, at);
      const std::int64_t from = job.matrix->columns[e] * job.width + at.feature;
      const VF value = hn::Set(d, entryValue(job, e, at.group));
      const auto place = hn::Set(di, static_cast<std::int32_t>(job.matrix->placeOf(e)));
      for (int v = 0; v < kVectors; ++v) {
        const VF winners = Run::load(reinterpret_cast<const float*>(job.given_winners) + from, v, at.count);
        const auto won = hn::RebindMask(d, hn::Eq(hn::BitCast(di, winners), place));
        sum[v] = hn::IfThenElse(won, hn::MulAdd(value, Run::load(job.x + from, v, at.count), sum[v]), sum[v]);
      }
    }
    for (int v = 0; v < kVectors; ++v) Run::store(sum[v], job.out + at.row * job.width + at.feature, v, at.count);
  }
};

// Calls the version of Work for the vectors that the columns fill.
template <class Work, int kVectors = Work::kVectorLimit>
HWY_INLINE void runColumns(const NeighborJobF32& job, const NeighborColumns& at) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(F32()));
  if constexpr (kVectors > 1) {
    if (at.count <= (kVectors - 1) * lanes) return runColumns<Work, kVectors - 1>(job, at);
  }
  if (at.count == kVectors * lanes) {
    Work::template run<kVectors, false>(job, at);
  } else {
    Work::template run<kVectors, true>(job, at);
  }
}

template <class Work>
HWY_INLINE void runRows(const NeighborJobF32& job) {
  const auto most = Work::kVectorLimit * static_cast<std::int64_t>(hn::Lanes(F32()));
  const std::int64_t groups = job.values.data == nullptr ? 1 : job.values.groups, each = job.width / groups;
  for (std::int64_t row = job.begin; row < job.end; ++row) {
    for (std::int64_t group = 0; group < groups; ++group) {
      for (std::int64_t f = group * each; f < (group + 1) * each; f += most)
        runColumns<Work>(job, {row, f, std::min(most, (group + 1) * each - f), group});
    }
  }
}

void sumNeighborsF32(const NeighborJobF32& job) { runRows<SumOfColumns>(job); }
void extremesOfNeighborsF32(const NeighborJobF32& job) { runRows<ExtremesOfColumns>(job); }
void sumWonNeighborsF32(const NeighborJobF32& job) { runRows<WonSumOfColumns>(job); }

// Σ a[f]·b[f], of those alone whose winner is `place`, if there are winners.
HWY_INLINE float productOfFeatures(const float* a, const float* b, std::int64_t count, const std::int32_t* winners,
                                   std::int32_t place) {
  const F32 d;
  const hn::RebindToSigned<F32> di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  VF sum = hn::Zero(d);
  for (std::int64_t f = 0; f < count; f += lanes) {
    const std::int64_t some = std::min(lanes, count - f);
    VF factor = loadFirst(a + f, some);
    VF other = loadFirst(b + f, some);
    if (winners != nullptr) {
      const VF won = loadFirst(reinterpret_cast<const float*>(winners) + f, some);
      const auto mask = hn::RebindMask(d, hn::Eq(hn::BitCast(di, won), hn::Set(di, place)));
      factor = hn::IfThenElseZero(mask, factor);
      other = hn::IfThenElseZero(mask, other);
    }
    sum = hn::MulAdd(factor, other, sum);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

void multiplyNeighborsF32(const NeighborJobF32& job) {
  const std::int64_t groups = job.values.groups, each = job.width / groups, last = job.matrix->entries() - 1;
  for (std::int64_t row = job.begin; row < job.end; ++row) {
    for (std::int64_t e = job.matrix->begins[row]; e < job.matrix->begins[row + 1]; ++e) {
      fetchAhead(job, e, last, {row, 0, job.width, 0});
      const std::int64_t place = job.matrix->placeOf(e), from = job.matrix->columns[e] * job.width;
      for (std::int64_t group = 0; group < groups; ++group) {
        const std::int64_t at = row * job.width + group * each;
        job.out[place * groups + group] = productOfFeatures(
            job.gradient + at, job.x + from + group * each, each,
            job.given_winners == nullptr ? nullptr : job.given_winners + at, static_cast<std::int32_t>(place));
      }
    }
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ipex_studio {

HWY_EXPORT(sumNeighborsF32);
HWY_EXPORT(extremesOfNeighborsF32);
HWY_EXPORT(sumWonNeighborsF32);
HWY_EXPORT(multiplyNeighborsF32);

NeighborMath<float> neighborMathSimd(const std::string& isa) {
  return {IPEX_SELECT_TARGET(sumNeighborsF32, isa), IPEX_SELECT_TARGET(extremesOfNeighborsF32, isa),
          IPEX_SELECT_TARGET(sumWonNeighborsF32, isa), IPEX_SELECT_TARGET(multiplyNeighborsF32, isa)};
}

}  // namespace ipex_studio

#endif  // HWY_ONCE
