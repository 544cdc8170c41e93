// A chosen plan against the default one. Private to the tuner.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/plan/plan.h"

namespace ipex_studio {

struct CompareLimits {
  int most_rounds = 60;
  std::int64_t budget_ns = 1'500'000'000;   // three rounds are always run
  std::function<std::int64_t()> clock_ns;
};

// Each the sum over its steps of the least time that was seen: on a busy machine hardly a whole run is left undisturbed,
// but each step once is.
struct PlanTimes {
  double default_ns = 0;
  double chosen_ns = 0;
};

// Prepares both and lets them take turns on inputs that are zero. `weights` gets the packed constants of the chosen plan;
// the default one borrows what it can, so what it computes means nothing.
PlanTimes comparePlans(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels, WeightCache& weights,
                       const std::shared_ptr<const PlanChoices>& choices, const CompareLimits& limits);

}  // namespace ipex_studio
