// Whole plans against each other: a chosen one against the default one. Private to the tuner.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/plan/plan.h"

namespace ipex_studio {

struct CompareLimits {
  int most_rounds = 60;
  std::int64_t budget_ns = 1'500'000'000;  // three rounds are always run
  std::function<std::int64_t()> clock_ns;
};

// A prepared plan, and the least time that each of its steps was seen to take: on a busy machine hardly a whole run is left
// undisturbed, but each step once is.
class TimedPlan {
 public:
  TimedPlan(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels, WeightCache& weights);
  TimedPlan(const TimedPlan&) = delete;
  TimedPlan& operator=(const TimedPlan&) = delete;

  void run(const void* const* inputs, void* const* outputs, const std::function<std::int64_t()>& clock_ns);
  const std::vector<TensorDesc>& outputs() const { return plan_->outputs(); }
  double total_ns() const;  // of all steps

 private:
  std::unique_ptr<Plan> plan_;
  Plan::Instance instance_;
  std::vector<std::int64_t> least_, begin_ns_, elapsed_ns_;
};

// Memory that is zero.
class ZeroedMemory {
 public:
  // One for each; absent tensors get some too.
  std::vector<void*> take(const std::vector<TensorDesc>& tensors);

 private:
  std::vector<Buffer> buffers_;
};

// TimedPlan::total_ns() of both.
struct PlanTimes {
  double default_ns = 0;
  double chosen_ns = 0;
};

// Prepares both and lets them run interleaved on inputs that are zero. `weights` gets the packed constants of the chosen plan;
// the default one borrows what it can, so what it computes means nothing.
PlanTimes comparePlans(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels,
                       WeightCache& weights, const std::shared_ptr<const PlanChoices>& choices,
                       const CompareLimits& limits);

}  // namespace ipex_studio
