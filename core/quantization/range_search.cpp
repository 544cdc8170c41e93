// Searches for the clipping range: percentile, Kullback–Leibler divergence, mean squared error.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/quantization/observer.h"

namespace ipex_studio {
namespace {

constexpr int kCandidates = 96;     // clips tried: shares (i + 1) / kCandidates of an extreme
constexpr double kMinShare = 0.05;  // share of the extremes below which clipping is no quantization

ValueRange scaled(ValueRange extremes, double low_share, double high_share) {
  return {extremes.low * low_share, extremes.high * high_share};
}

double shareOf(int candidate) { return std::max(kMinShare, static_cast<double>(candidate + 1) / kCandidates); }

// KL(P || Q): P is the observed distribution with its tails in the outermost bins; Q is P after quantization, which
// spreads a level's count evenly over the bins that were not empty.
double divergence(const Histogram& histogram, ValueRange range, int levels) {
  const auto& counts = histogram.counts();
  const AffineParameters affine = affineParameters(range, levels);
  std::vector<double> level_sum(static_cast<std::size_t>(levels), 0), level_bins(level_sum);
  std::vector<int> level_of(counts.size(), 0);
  std::vector<double> inside(counts.size(), 0);
  double total = 0;
  std::ptrdiff_t first = -1, last = -1;
  double below = 0, above = 0;
  for (std::size_t bin = 0; bin < counts.size(); ++bin) {
    const double center = histogram.center(bin);
    const auto count = static_cast<double>(counts[bin]);
    total += count;
    if (center < range.low) {
      below += count;
      continue;
    }
    if (center > range.high) {
      above += count;
      continue;
    }
    if (first < 0) first = static_cast<std::ptrdiff_t>(bin);
    last = static_cast<std::ptrdiff_t>(bin);
    const double level = std::nearbyint(center / affine.scale) + static_cast<double>(affine.zero_point);
    level_of[bin] = static_cast<int>(std::clamp(level, 0.0, static_cast<double>(levels - 1)));
    inside[bin] = count;
    if (count > 0) {
      level_sum[static_cast<std::size_t>(level_of[bin])] += count;
      level_bins[static_cast<std::size_t>(level_of[bin])] += 1;
    }
  }
  if (first < 0 || total == 0) return std::numeric_limits<double>::infinity();
  double result = 0;
  const double kept = total - below - above;
  if (kept <= 0) return std::numeric_limits<double>::infinity();
  for (std::ptrdiff_t bin = first; bin <= last; ++bin) {
    double p = inside[static_cast<std::size_t>(bin)];
    const auto level = static_cast<std::size_t>(level_of[static_cast<std::size_t>(bin)]);
    double q = p > 0 ? level_sum[level] / level_bins[level] : 0;
    if (bin == first) p += below;
    if (bin == last) p += above;
    if (p == 0) continue;
    p /= total;
    q = std::max(q / kept, 1e-12);
    result += p * std::log(p / q);
  }
  return result;
}

// Tries shares of both extremes together, then of each alone around the best.
template <class Cost>
ValueRange search(ValueRange extremes, const Cost& cost) {
  double best_low = 1, best_high = 1, best = cost(extremes);
  const auto consider = [&](double low, double high) {
    const double here = cost(scaled(extremes, low, high));
    if (here >= best) return;
    best = here;
    best_low = low;
    best_high = high;
  };
  for (int i = kCandidates - 2; i >= 0; --i) consider(shareOf(i), shareOf(i));
  if (extremes.low < 0 && extremes.high > 0) {
    for (int round = 0; round < 2; ++round) {
      for (int i = kCandidates - 1; i >= 0; --i) consider(shareOf(i), best_high);
      for (int i = kCandidates - 1; i >= 0; --i) consider(best_low, shareOf(i));
    }
  }
  return scaled(extremes, best_low, best_high);
}

}  // namespace

double quantizationError(const Histogram& histogram, ValueRange range, int levels) {
  const AffineParameters affine = affineParameters(range, levels);
  const auto zero = static_cast<double>(affine.zero_point);
  const double inverse = 1 / affine.scale, top = levels - 1;
  double error = 0;
  std::int64_t total = histogram.zeros();
  for (std::size_t bin = 0; bin < histogram.counts().size(); ++bin) {
    const std::int64_t count = histogram.counts()[bin];
    if (count == 0) continue;
    const double center = histogram.center(bin);
    const double level = std::clamp(std::nearbyint(center * inverse) + zero, 0.0, top);
    const double delta = (level - zero) * affine.scale - center;
    error += delta * delta * static_cast<double>(count);
    total += count;
  }
  return total == 0 ? 0 : error / static_cast<double>(total);
}

ValueRange percentileRange(const Histogram& histogram, ValueRange extremes, double percentile) {
  std::int64_t total = histogram.zeros();
  for (const std::int64_t count : histogram.counts()) total += count;
  const double outside = (1 - std::clamp(percentile, 0.0, 100.0) / 100) * static_cast<double>(total);
  // If one side holds nothing, the other one takes both tails.
  const bool both = extremes.low < 0 && extremes.high > 0;
  const double tail = both ? outside / 2 : outside;
  ValueRange range = extremes;
  double seen = 0;
  for (std::size_t bin = 0; bin < histogram.counts().size(); ++bin) {
    seen += static_cast<double>(histogram.counts()[bin]);
    if (seen > tail) {
      range.low = std::max(extremes.low,
                           (static_cast<double>(histogram.first()) + static_cast<double>(bin)) * histogram.width());
      break;
    }
  }
  seen = 0;
  for (std::size_t bin = histogram.counts().size(); bin-- > 0;) {
    seen += static_cast<double>(histogram.counts()[bin]);
    if (seen > tail) {
      range.high = std::min(
          extremes.high, (static_cast<double>(histogram.first()) + static_cast<double>(bin) + 1) * histogram.width());
      break;
    }
  }
  return {std::min(range.low, 0.0), std::max(range.high, 0.0)};
}

ValueRange klRange(const Histogram& histogram, ValueRange extremes, int levels) {
  if (histogram.empty() || extremes.low == extremes.high) return extremes;
  // Candidate ranges follow Migacz: none has fewer bins than levels, because a histogram cannot show the effect of
  // quantization there, and only the tail of the range would count.
  const double least = levels * histogram.width();
  return search(extremes, [&](ValueRange range) {
    const bool too_fine = range.high - range.low < least && range.high - range.low < extremes.high - extremes.low;
    return too_fine ? std::numeric_limits<double>::infinity() : divergence(histogram, range, levels);
  });
}

ValueRange mseRange(const Histogram& histogram, ValueRange extremes, int levels) {
  if (histogram.empty() || extremes.low == extremes.high) return extremes;
  return search(extremes, [&](ValueRange range) { return quantizationError(histogram, range, levels); });
}

}  // namespace ipex_studio
