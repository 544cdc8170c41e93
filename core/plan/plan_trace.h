// tracePlan: lists the operations that a plan will have, with their sizes, without preparing kernels.
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
  PrepareArgs args;                    // arguments for kernels, without `weights`; for a view: src and dst alone
  bool whole = true;                   // false: the node is computed as several steps at these sizes
};

// Lists every tensor operation of the spec, in order. Prepares nothing; throws where the spec does not fit the request.
// `fold`: leaves out what a plan computes once from constants.
std::vector<TracedStep> tracePlan(const PlanSpec& spec, const PlanRequest& request, bool fold = true);

}  // namespace ipex_studio
