// See choose_token.h.
#include "core/generate/choose_token.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/error.h"

namespace ipex_studio {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
std::uint64_t mixed(std::uint64_t state) {
  state += 0x9e3779b97f4a7c15u;
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
  state = (state ^ (state >> 27)) * 0x94d049bb133111ebu;
  return state ^ (state >> 31);
}

// Evenly in [0, 1).
double drawn(std::uint64_t seed, std::int64_t step) {
  return static_cast<double>(mixed(mixed(seed) ^ static_cast<std::uint64_t>(step)) >> 11) * 0x1p-53;
}

// The tokens that may be drawn, the likeliest first where fewer than all may be.
std::vector<std::int64_t> candidates(const std::vector<double>& values, const SamplingOptions& options) {
  std::vector<std::int64_t> ids(values.size());
  std::iota(ids.begin(), ids.end(), 0);
  const bool few = options.top_k > 0 && static_cast<std::size_t>(options.top_k) < ids.size();
  if (!few && options.top_p >= 1) return ids;
  const auto likelier = [&](std::int64_t a, std::int64_t b) {
    const double x = values[static_cast<std::size_t>(a)], y = values[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  const std::ptrdiff_t kept = few ? options.top_k : static_cast<std::ptrdiff_t>(ids.size());
  std::partial_sort(ids.begin(), ids.begin() + kept, ids.end(), likelier);
  ids.resize(static_cast<std::size_t>(kept));
  return ids;
}

}  // namespace

std::vector<double> logProbabilities(const float* scores, std::size_t count) {
  double greatest = kNever;
  for (std::size_t i = 0; i < count; ++i) greatest = scores[i] > greatest ? scores[i] : greatest;
  if (!std::isfinite(greatest))
    throw Error(ExitCode::kFailure,
                "The model's scores for the next token are not finite, so none can be chosen; check the model with "
                "ipex-studio run.");
  double sum = 0;
  std::vector<double> values(count, kNever);
  for (std::size_t i = 0; i < count; ++i) {
    if (std::isnan(scores[i])) continue;
    values[i] = scores[i] - greatest;
    sum += std::exp(values[i]);
  }
  for (double& value : values) value -= std::log(sum);
  return values;
}

std::int64_t likeliest(const std::vector<double>& log_probabilities) {
  return std::max_element(log_probabilities.begin(), log_probabilities.end()) - log_probabilities.begin();
}

std::int64_t drawToken(const std::vector<double>& log_probabilities, const SamplingOptions& options,
                       std::int64_t step) {
  std::vector<std::int64_t> ids = candidates(log_probabilities, options);
  const double greatest = *std::max_element(log_probabilities.begin(), log_probabilities.end());
  std::vector<double> weights;
  for (const std::int64_t id : ids)
    weights.push_back(std::exp((log_probabilities[static_cast<std::size_t>(id)] - greatest) / options.temperature));
  double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (options.top_p < 1) {
    double reached = 0;
    std::size_t kept = 0;
    while (kept < ids.size() && reached < options.top_p * total) reached += weights[kept++];
    ids.resize(kept);
    total = reached;
  }
  double left = drawn(options.seed, step) * total;
  std::size_t last = 0;  // of the tokens that have a probability: rounding may leave something at the end
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (weights[i] <= 0) continue;
    last = i;
    left -= weights[i];
    if (left < 0) break;
  }
  return ids[last];
}

}  // namespace ipex_studio
