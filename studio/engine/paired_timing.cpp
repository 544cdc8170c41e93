#include "studio/engine/paired_timing.h"

#include <algorithm>
#include <vector>

#include "core/graph/measure.h"

namespace ipex_studio {
namespace {

constexpr int kTurns = 9;
constexpr double kTurn_s = 0.12;

}  // namespace

double medianForward(torch::jit::Module& module, const Inputs& inputs, double seconds) {
  std::vector<std::int64_t> samples = timeForward(module, inputs, seconds, 0);
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return static_cast<double>(*middle);
}

double ratioInTurns(torch::jit::Module& candidate, torch::jit::Module& base, const Inputs& inputs) {
  std::vector<double> ratios;
  for (int turn = 0; turn < kTurns; ++turn) {
    const double base_ns = medianForward(base, inputs, kTurn_s);
    ratios.push_back(medianForward(candidate, inputs, kTurn_s) / base_ns);
  }
  std::sort(ratios.begin(), ratios.end());
  return ratios[ratios.size() / 2];
}

}  // namespace ipex_studio
