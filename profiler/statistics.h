// Statistics of measured times. Pure functions, thread-safe; the views in schema.sql use the same definitions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ipex_studio {

// Statistics of latencies in nanoseconds; all zero if there is no sample.
struct LatencyStats {
  std::int64_t samples = 0;
  double min_ns = 0;
  double mean_ns = 0;
  double p50_ns = 0;
  double p90_ns = 0;
  double p95_ns = 0;
  double p99_ns = 0;
  double max_ns = 0;
};

// A point estimate with its two-sided 95 % interval.
struct Interval {
  double value = 0;
  double low = 0;
  double high = 0;
};

// Nearest rank: the smallest sample that at least `percent` of all samples do not exceed, hence always a measured
// value. `sorted` is ascending and not empty; 0 < percent <= 100.
std::int64_t percentile(const std::vector<std::int64_t>& sorted, int percent);

// Median by nearest rank; 0 if empty. Takes a copy because it reorders.
std::int64_t median(std::vector<std::int64_t> samples);

LatencyStats latencyStats(std::vector<std::int64_t> samples_ns);

// Median (nearest rank, as in reports) with a distribution-free 95 % interval; zeros when there are no samples.
struct TimeStatistics {
  double p50_ns = 0;
  double half_width_ns = 0;  // half of the interval's width
  std::int64_t samples = 0;
};
TimeStatistics timeStatistics(std::vector<std::int64_t> samples_ns);

// Medians of resampled runs. Series of equal length are times of parts of the same runs, so that a replicate draws the
// same runs for all of them. Returns `replicates` medians per series; zeros for an empty one. Deterministic for a seed.
std::vector<std::vector<double>> resampledMedians(const std::vector<std::vector<std::int64_t>>& series,
                                                  std::size_t replicates, std::uint64_t seed);
// Half the width of the 95 % interval of what replicates gave; 0 for fewer than two.
double halfWidthOf(std::vector<double> replicates);

// Samples of one variant. `turn` holds the round of the interleaving that each sample belongs to; it is as long as
// `latency_ns`, or empty.
struct RoundSamples {
  const std::vector<std::int64_t>& latency_ns;
  const std::vector<std::int32_t>& turn;
};

// Returns median(a) / median(b), the speed-up of b over a, with a percentile-bootstrap interval (B. Efron, R.
// Tibshirani: An Introduction to the Bootstrap, 1993). Noise on a busy machine lasts longer than one sample, so whole
// rounds are resampled. If both sides have equally many rounds, the i-th round of a is resampled together with the i-th
// of b (`paired`), since neighbours in time share their noise. With fewer than two rounds single samples are resampled.
// Deterministic for a given seed. All zero if a side is empty.
Interval medianRatio(const RoundSamples& a, const RoundSamples& b, bool paired = true, std::uint64_t seed = 0);

}  // namespace ipex_studio
