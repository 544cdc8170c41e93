// Interleaved timing of two modules, and the interval of their ratio.
#include "studio/engine/paired_timing.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/model/measure.h"

namespace ipex_studio {
namespace {

constexpr int kMinTimingRounds = 9, kMaxTimingRounds = 27;
constexpr double kTurn_s = 0.12;

// The median and its interval by order statistics, as ratios of rounds need not follow any distribution.
InterleavedRatio medianWithInterval(std::vector<double> ratios) {
  std::sort(ratios.begin(), ratios.end());
  const auto count = static_cast<double>(ratios.size());
  const auto outside =
      static_cast<std::size_t>(std::max(0.0, std::floor(count / 2 - 0.98 * std::sqrt(count))));  // 2.5 % per side
  return {ratios[ratios.size() / 2], ratios[outside], ratios[ratios.size() - 1 - outside]};
}

}  // namespace

double medianForward(torch::jit::Module& module, const Inputs& inputs, double seconds) {
  std::vector<std::int64_t> samples = timeForward(module, inputs, seconds, 0);
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return static_cast<double>(*middle);
}

InterleavedRatio interleavedRatio(torch::jit::Module& candidate, torch::jit::Module& base, const Inputs& inputs,
                                  double bound) {
  std::vector<double> ratios;
  InterleavedRatio ratio;
  for (int turn = 0; turn < kMaxTimingRounds; ++turn) {
    const double base_ns = medianForward(base, inputs, kTurn_s);
    ratios.push_back(medianForward(candidate, inputs, kTurn_s) / base_ns);
    if (turn + 1 < kMinTimingRounds) continue;
    ratio = medianWithInterval(ratios);
    if (ratio.high < bound || ratio.low > bound) break;
  }
  return ratio;
}

}  // namespace ipex_studio
