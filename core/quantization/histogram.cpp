// A histogram on a grid of power-of-two bin widths that coarsens as values arrive.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/quantization/observer.h"

namespace ipex_studio {
namespace {

// Bins are no finer than 2^-kFinest of the greatest magnitude, since a constant has no spread that would give a width.
constexpr int kFinest = 22;

std::int64_t floorShift(std::int64_t value, int bits) {
  if (bits >= 63) return value < 0 ? -1 : 0;
  return value >> bits;  // arithmetic: rounds down
}

// floor() without its library call, which SSE2 alone would need.
std::int64_t binOf(double value, double inverse_width) {
  const double scaled = value * inverse_width;
  const auto truncated = static_cast<std::int64_t>(scaled);
  return truncated - (scaled < static_cast<double>(truncated) ? 1 : 0);
}

// The exponent of the finest grid on which the values from low to high take at most kBins bins.
int exponentFor(double low, double high) {
  const double magnitude = std::max(std::abs(low), std::abs(high));
  int exponent = std::ilogb(magnitude) - kFinest;
  const double span = high - low;
  if (span > 0) exponent = std::max(exponent, std::ilogb(span / Histogram::kBins) - 1);
  while (binOf(high, std::ldexp(1.0, -exponent)) - binOf(low, std::ldexp(1.0, -exponent)) >= Histogram::kBins)
    ++exponent;
  return exponent;
}

}  // namespace

double Histogram::width() const { return std::ldexp(1.0, exponent_); }

void Histogram::coarsen(int exponent) {
  const int bits = exponent - exponent_;
  if (bits <= 0) return;
  const std::int64_t first = floorShift(first_, bits);
  const std::int64_t last = floorShift(first_ + static_cast<std::int64_t>(counts_.size()) - 1, bits);
  std::vector<std::int64_t> coarse(static_cast<std::size_t>(last - first + 1), 0);
  for (std::size_t bin = 0; bin < counts_.size(); ++bin) {
    coarse[static_cast<std::size_t>(floorShift(first_ + static_cast<std::int64_t>(bin), bits) - first)] += counts_[bin];
  }
  counts_ = std::move(coarse);
  first_ = first;
  exponent_ = exponent;
}

// Makes room for bins first … last of the grid `exponent`, which is no coarser than this one may become. Edge bins hold
// counts, so that the number of bins follows from the values.
void Histogram::cover(int exponent, std::int64_t first, std::int64_t last) {
  if (counts_.empty()) {
    exponent_ = exponent;
    first_ = first;
    counts_.assign(static_cast<std::size_t>(last - first + 1), 0);
    return;
  }
  int common = std::max(exponent, exponent_);
  const auto lastOwn = [&] { return first_ + static_cast<std::int64_t>(counts_.size()) - 1; };
  const auto spans = [&](int at) {
    const std::int64_t low = std::min(floorShift(first, at - exponent), floorShift(first_, at - exponent_));
    const std::int64_t high = std::max(floorShift(last, at - exponent), floorShift(lastOwn(), at - exponent_));
    return high - low;
  };
  while (spans(common) >= kBins) ++common;
  coarsen(common);
  const std::int64_t low = std::min(floorShift(first, common - exponent), first_);
  const std::int64_t high = std::max(floorShift(last, common - exponent), lastOwn());
  std::vector<std::int64_t> wider(static_cast<std::size_t>(high - low + 1), 0);
  std::copy(counts_.begin(), counts_.end(), wider.begin() + static_cast<std::ptrdiff_t>(first_ - low));
  counts_ = std::move(wider);
  first_ = low;
}

void Histogram::add(const float* values, std::size_t count) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (std::size_t i = 0; i < count; ++i) {
    if (values[i] == 0) continue;
    low = std::min(low, static_cast<double>(values[i]));
    high = std::max(high, static_cast<double>(values[i]));
  }
  if (low > high) {
    zeros_ += static_cast<std::int64_t>(count);
    return;
  }
  const int exponent = exponentFor(low, high);
  const double fine = std::ldexp(1.0, -exponent);
  cover(exponent, binOf(low, fine), binOf(high, fine));
  const double inverse = std::ldexp(1.0, -exponent_);
  for (std::size_t i = 0; i < count; ++i) {
    if (values[i] == 0) {
      ++zeros_;
    } else {
      ++counts_[static_cast<std::size_t>(binOf(values[i], inverse) - first_)];
    }
  }
}

void Histogram::merge(const Histogram& other) {
  zeros_ += other.zeros_;
  if (other.empty()) return;
  cover(other.exponent_, other.first_, other.first_ + static_cast<std::int64_t>(other.counts_.size()) - 1);
  for (std::size_t bin = 0; bin < other.counts_.size(); ++bin) {
    const std::int64_t at = floorShift(other.first_ + static_cast<std::int64_t>(bin), exponent_ - other.exponent_);
    counts_[static_cast<std::size_t>(at - first_)] += other.counts_[bin];
  }
}

nlohmann::json Histogram::state() const {
  return {{"exponent", exponent_}, {"first", first_}, {"zeros", zeros_}, {"counts", counts_}};
}

Histogram Histogram::fromState(const nlohmann::json& json) {
  Histogram histogram;
  histogram.exponent_ = json.at("exponent").get<int>();
  histogram.first_ = json.at("first").get<std::int64_t>();
  histogram.zeros_ = json.at("zeros").get<std::int64_t>();
  histogram.counts_ = json.at("counts").get<std::vector<std::int64_t>>();
  const bool negative =
      std::any_of(histogram.counts_.begin(), histogram.counts_.end(), [](std::int64_t count) { return count < 0; });
  // Bin numbers of floats stay below 2^(kFinest + 2); larger ones are forged.
  constexpr std::int64_t kFarthest = std::int64_t{1} << 40;
  if (histogram.counts_.size() > kBins || negative || histogram.zeros_ < 0 || std::abs(histogram.exponent_) > 300 ||
      histogram.first_ > kFarthest || histogram.first_ < -kFarthest) {
    throw Error(ExitCode::kUsage, "The state of a histogram is damaged.");
  }
  return histogram;
}

}  // namespace ipex_studio
