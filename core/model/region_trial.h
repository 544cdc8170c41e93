// A region against the code that it replaced, timed by turns on the same inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/clock.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Times of two ways to compute the same, by turns.
struct PairedTimes {
  std::int64_t first_ns = 0, second_ns = 0;  // medians
  double ratio = 1, low = 1, high = 1;       // first over second: the median over turns and its 95 % interval

  // True if the first is slower beyond doubt.
  bool firstLoses() const;
};

struct TrialLimits {
  std::int64_t budget_ns = 0;  // no turn begins that would go beyond it
  std::function<std::int64_t()> clock_ns = &nowNs;
};

// Runs both once untimed, then by turns, until the first proves to win or `limits` end the trial; none where so few
// turns are possible that they would say nothing. What the two throw passes through.
std::optional<PairedTimes> timePair(const std::function<void()>& first, const std::function<void()>& second,
                                    const TrialLimits& limits);

// Times `region` (region_object.h) against `code` (RegionCode::graph) on `tensors` and `ints`. None if the limits do
// not allow it or the code cannot run on its own.
std::optional<PairedTimes> timeRegion(const torch::jit::IValue& region, const std::shared_ptr<torch::jit::Graph>& code,
                                      const std::vector<torch::jit::IValue>& tensors,
                                      const std::vector<torch::jit::IValue>& ints, const TrialLimits& limits);

}  // namespace ipex_studio
