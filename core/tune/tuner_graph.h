// The choice over a whole plan, as a partitioned Boolean quadratic problem. Private to the tuner.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "core/plan/plan_trace.h"
#include "core/record/tuning_store.h"

namespace ipex_studio {

// How a step is computed: by itself, or two by one kernel, where the first does both and the second nothing.
enum class Joined : std::uint8_t { kNot, kWithReader, kWithSource };

// One way to compute a step: layouts in and out, and the time it takes.
struct StepAlternative {
  std::vector<TensorDesc> src;  // per source; read only where the source is an activation
  TensorDesc dst;
  double cost_ns = 0;
  std::int32_t candidate = -1;  // index in the step's entry; -1: the plan's default
  Joined joined = Joined::kNot;
};

// Time of a conversion from one layout of a tensor to another, in ns.
using ConversionCost = std::function<double(const TensorDesc& from, const TensorDesc& to)>;

struct ChosenSteps {
  std::vector<std::int32_t> alternative;  // per step of the trace; -1 for views
  double cost_ns = 0;
};

// Chooses one alternative per step so that steps and conversions together take least. `alternatives`: per step of the
// trace, empty for views, at least one for all others. Inputs and outputs of the plan keep their layouts.
ChosenSteps chooseSteps(const PlanSpec& spec, const PlanRequest& request, const std::vector<TracedStep>& steps,
                        const std::vector<std::vector<StepAlternative>>& alternatives,
                        const ConversionCost& conversion);

}  // namespace ipex_studio
