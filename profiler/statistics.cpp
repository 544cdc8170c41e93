// Percentiles and the cluster bootstrap of a ratio of medians.
#include "profiler/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/base/error.h"

namespace ipex_studio {
namespace {

constexpr int kReplicates = 1000;

// SplitMix64, because the standard distributions differ between libraries.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::size_t below(std::size_t bound) {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
    return static_cast<std::size_t>((mixed ^ (mixed >> 31)) % bound);
  }

 private:
  std::uint64_t state_;
};

// Samples in ascending order, each with the number of the cluster it is drawn with. A resample is then a count per
// cluster, and its median one walk over the samples.
struct Clusters {
  std::vector<std::int64_t> sorted;
  std::vector<std::int32_t> cluster;
  std::size_t count = 0;
};

Clusters clustersOf(const RoundSamples& samples) {
  const std::size_t n = samples.latency_ns.size();
  std::vector<std::int32_t> rounds = samples.turn;
  std::sort(rounds.begin(), rounds.end());
  rounds.erase(std::unique(rounds.begin(), rounds.end()), rounds.end());
  const bool by_turn = samples.turn.size() == n && rounds.size() > 1;

  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
    return samples.latency_ns[x] != samples.latency_ns[y] ? samples.latency_ns[x] < samples.latency_ns[y] : x < y;
  });
  Clusters result;
  result.count = by_turn ? rounds.size() : n;
  result.sorted.reserve(n);
  result.cluster.reserve(n);
  for (const std::size_t i : order) {
    result.sorted.push_back(samples.latency_ns[i]);
    const auto cluster = by_turn ? std::lower_bound(rounds.begin(), rounds.end(), samples.turn[i]) - rounds.begin()
                                 : static_cast<std::ptrdiff_t>(i);
    result.cluster.push_back(static_cast<std::int32_t>(cluster));
  }
  return result;
}

void draw(Random& random, std::vector<std::int32_t>& counts) {
  std::fill(counts.begin(), counts.end(), 0);
  for (std::size_t i = 0; i < counts.size(); ++i) ++counts[random.below(counts.size())];
}

double resampledMedian(const Clusters& clusters, const std::vector<std::int32_t>& counts) {
  std::int64_t total = 0;
  for (const std::int32_t cluster : clusters.cluster) total += counts[static_cast<std::size_t>(cluster)];
  const std::int64_t rank = (total + 1) / 2;
  std::int64_t seen = 0;
  for (std::size_t i = 0; i < clusters.sorted.size(); ++i) {
    seen += counts[static_cast<std::size_t>(clusters.cluster[i])];
    if (seen >= rank) return static_cast<double>(clusters.sorted[i]);
  }
  return 0;
}

}  // namespace

std::int64_t percentile(const std::vector<std::int64_t>& sorted, int percent) {
  IPEX_CHECK(!sorted.empty() && percent > 0 && percent <= 100, "percentile of nothing");
  const std::size_t rank = (sorted.size() * static_cast<std::size_t>(percent) + 99) / 100;
  return sorted[rank - 1];
}

std::int64_t median(std::vector<std::int64_t> samples) {
  if (samples.empty()) return 0;
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>((samples.size() + 1) / 2 - 1);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

LatencyStats latencyStats(std::vector<std::int64_t> samples_ns) {
  LatencyStats stats;
  if (samples_ns.empty()) return stats;
  std::sort(samples_ns.begin(), samples_ns.end());
  const double sum = std::accumulate(samples_ns.begin(), samples_ns.end(), 0.0);
  stats.samples = static_cast<std::int64_t>(samples_ns.size());
  stats.min_ns = static_cast<double>(samples_ns.front());
  stats.mean_ns = sum / static_cast<double>(samples_ns.size());
  stats.p50_ns = static_cast<double>(percentile(samples_ns, 50));
  stats.p90_ns = static_cast<double>(percentile(samples_ns, 90));
  stats.p95_ns = static_cast<double>(percentile(samples_ns, 95));
  stats.p99_ns = static_cast<double>(percentile(samples_ns, 99));
  stats.max_ns = static_cast<double>(samples_ns.back());
  return stats;
}

TimeStatistics timeStatistics(std::vector<std::int64_t> samples_ns) {
  TimeStatistics statistics;
  if (samples_ns.empty()) return statistics;
  std::sort(samples_ns.begin(), samples_ns.end());
  const auto n = static_cast<std::int64_t>(samples_ns.size());
  statistics.samples = n;
  statistics.p50_ns = static_cast<double>(percentile(samples_ns, 50));
  // Order statistics around the median: binomial(n, 1/2) by its normal approximation.
  const double spread = 0.98 * std::sqrt(static_cast<double>(n));
  const auto low =
      std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(static_cast<double>(n) / 2 - spread)));
  const auto high =
      std::min<std::int64_t>(n - 1, static_cast<std::int64_t>(std::ceil(static_cast<double>(n) / 2 + spread)));
  statistics.half_width_ns = static_cast<double>(samples_ns[high] - samples_ns[low]) / 2;
  return statistics;
}

std::vector<std::vector<double>> resampledMedians(const std::vector<std::vector<std::int64_t>>& series,
                                                  std::size_t replicates, std::uint64_t seed) {
  std::vector<std::vector<double>> medians(series.size(), std::vector<double>(replicates, 0.0));
  std::map<std::size_t, std::vector<std::size_t>> by_length;
  for (std::size_t s = 0; s < series.size(); ++s) {
    if (!series[s].empty()) by_length[series[s].size()].push_back(s);
  }
  for (const auto& [length, members] : by_length) {
    std::vector<Clusters> clusters;
    for (const std::size_t s : members) clusters.push_back(clustersOf({series[s], {}}));
    Random random(seed);
    std::vector<std::int32_t> counts(length);
    for (std::size_t replicate = 0; replicate < replicates; ++replicate) {
      draw(random, counts);
      for (std::size_t m = 0; m < members.size(); ++m)
        medians[members[m]][replicate] = resampledMedian(clusters[m], counts);
    }
  }
  return medians;
}

double halfWidthOf(std::vector<double> replicates) {
  if (replicates.size() < 2) return 0;
  std::sort(replicates.begin(), replicates.end());
  const std::size_t tail = replicates.size() / 40;  // 2.5 % on either side
  return (replicates[replicates.size() - 1 - tail] - replicates[tail]) / 2;
}

Interval medianRatio(const RoundSamples& a, const RoundSamples& b, bool paired, std::uint64_t seed) {
  const std::int64_t median_b = median(b.latency_ns);
  if (a.latency_ns.empty() || median_b == 0) return {};
  const Clusters clusters_a = clustersOf(a);
  const Clusters clusters_b = clustersOf(b);
  const bool together = paired && clusters_a.count == clusters_b.count;

  Random random(seed);
  std::vector<std::int32_t> counts_a(clusters_a.count);
  std::vector<std::int32_t> counts_b(clusters_b.count);
  std::vector<double> ratios;
  ratios.reserve(kReplicates);
  for (int replicate = 0; replicate < kReplicates; ++replicate) {
    draw(random, counts_a);
    if (together) {
      counts_b = counts_a;
    } else {
      draw(random, counts_b);
    }
    const double denominator = resampledMedian(clusters_b, counts_b);
    if (denominator > 0) ratios.push_back(resampledMedian(clusters_a, counts_a) / denominator);
  }
  const double ratio = static_cast<double>(median(a.latency_ns)) / static_cast<double>(median_b);
  if (ratios.empty()) return {ratio, ratio, ratio};
  std::sort(ratios.begin(), ratios.end());
  const std::size_t tail = ratios.size() / 40;  // 2.5 % on either side
  // With few rounds the ratio itself may lie outside of what most replicates give.
  return {ratio, std::min(ratio, ratios[tail]), std::max(ratio, ratios[ratios.size() - 1 - tail])};
}

}  // namespace ipex_studio
