// Arithmetic on the neighbours of some rows of a sparse matrix, in double precision and by its definition.
#include <algorithm>
#include <cmath>

#include "kernels/index/neighbor_math.h"

namespace ipex_studio {
namespace {

using Job = NeighborJob<double>;

double valueAt(const Job& job, std::int64_t entry, std::int64_t feature) {
  if (job.values.data == nullptr) return 1;
  const std::int64_t group = feature / (job.width / job.values.groups);
  return job.values.data[job.matrix->placeOf(entry) * job.values.groups + group];
}

double featureAt(const Job& job, std::int64_t entry, std::int64_t feature) {
  return job.x[job.matrix->columns[entry] * job.width + feature];
}

// Calls fn(row, feature, first entry, end of the entries).
template <typename Fn>
void forResults(const Job& job, const Fn& fn) {
  for (std::int64_t row = job.begin; row < job.end; ++row) {
    for (std::int64_t f = 0; f < job.width; ++f) fn(row, f, job.matrix->begins[row], job.matrix->begins[row + 1]);
  }
}

void sumNeighbors(const Job& job) {
  forResults(job, [&](std::int64_t row, std::int64_t f, std::int64_t first, std::int64_t last) {
    double sum = 0;
    for (std::int64_t e = first; e < last; ++e) sum += valueAt(job, e, f) * featureAt(job, e, f);
    job.out[row * job.width + f] = job.mean && last > first ? sum / static_cast<double>(last - first) : sum;
  });
}

void extremesOfNeighbors(const Job& job) {
  forResults(job, [&](std::int64_t row, std::int64_t f, std::int64_t first, std::int64_t last) {
    double best = 0;
    std::int64_t winner = -1;
    for (std::int64_t e = first; e < last; ++e) {
      const double value = valueAt(job, e, f) * featureAt(job, e, f);
      const bool better = job.minima ? value < best : value > best;
      if (e > first && (std::isnan(best) || !(better || std::isnan(value)))) continue;
      best = value;
      winner = job.matrix->placeOf(e);
    }
    job.out[row * job.width + f] = best;
    if (job.winners != nullptr) job.winners[row * job.width + f] = static_cast<std::int32_t>(winner);
  });
}

void sumWonNeighbors(const Job& job) {
  forResults(job, [&](std::int64_t row, std::int64_t f, std::int64_t first, std::int64_t last) {
    double sum = 0;
    for (std::int64_t e = first; e < last; ++e) {
      if (job.given_winners[job.matrix->columns[e] * job.width + f] == job.matrix->placeOf(e))
        sum += valueAt(job, e, f) * featureAt(job, e, f);
    }
    job.out[row * job.width + f] = sum;
  });
}

void multiplyNeighbors(const Job& job) {
  const std::int64_t groups = job.values.groups, each = job.width / groups;
  for (std::int64_t row = job.begin; row < job.end; ++row) {
    for (std::int64_t e = job.matrix->begins[row]; e < job.matrix->begins[row + 1]; ++e) {
      const std::int64_t place = job.matrix->placeOf(e);
      for (std::int64_t group = 0; group < groups; ++group) {
        double sum = 0;
        for (std::int64_t f = group * each; f < (group + 1) * each; ++f) {
          const std::int64_t at = row * job.width + f;
          if (job.given_winners == nullptr || job.given_winners[at] == place)
            sum += job.gradient[at] * featureAt(job, e, f);
        }
        job.out[place * groups + group] = sum;
      }
    }
  }
}

}  // namespace

NeighborMath<double> neighborMathRef() {
  return {sumNeighbors, extremesOfNeighbors, sumWonNeighbors, multiplyNeighbors};
}

}  // namespace ipex_studio
