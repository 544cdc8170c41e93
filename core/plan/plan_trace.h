// tracePlan: the operations that a plan will have, at which sizes, without kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/plan.h"

namespace ipex_studio {

// One tensor operation of a spec with all sizes known, as if every result were row-major.
struct TracedStep {
  std::int32_t node = 0;
  OpSpec op;
  std::vector<std::int32_t> src, dst;  // values of the spec; -1: absent
  PrepareArgs args;                    // what kernels would be asked for; no `weights`. Views: src and dst alone
  bool whole = true;                   // false: at these sizes it is computed as several steps
};

// Every tensor operation of the spec, in order. Throws as Plan::compile does; prepares nothing. `fold`: without what a
// plan computes once from constants.
std::vector<TracedStep> tracePlan(const PlanSpec& spec, const PlanRequest& request, bool fold = true);

}  // namespace ipex_studio
