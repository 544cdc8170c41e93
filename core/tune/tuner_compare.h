// Times whole plans against each other: a chosen one against the default one. Private to the tuner.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/plan/plan.h"
#include "core/tune/tuner_clock.h"

namespace ipex_studio {

struct CompareLimits {
  int most_rounds = 60;
  std::int64_t budget_ns = 1'500'000'000;  // three rounds are run in any case
  TuneClock clock;
};

// A prepared plan, and the least time that each of its steps was seen to take: on a busy machine hardly a whole run is
// undisturbed, but each step is once.
class TimedPlan {
 public:
  TimedPlan(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels, WeightCache& weights);
  TimedPlan(const TimedPlan&) = delete;
  TimedPlan& operator=(const TimedPlan&) = delete;

  // Runs the plan once and times its steps.
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
  // One piece of memory per tensor; absent tensors get some too.
  std::vector<void*> take(const std::vector<TensorDesc>& tensors);

 private:
  std::vector<Buffer> buffers_;
};

// TimedPlan::total_ns() of both plans.
struct PlanTimes {
  double default_ns = 0;
  double chosen_ns = 0;
};

// Prepares both plans and runs them interleaved on zeros. `weights` gets the packed constants of the chosen plan; the
// default plan borrows them where it can, so the results mean nothing.
PlanTimes comparePlans(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels,
                       WeightCache& weights, const std::shared_ptr<const PlanChoices>& choices,
                       const CompareLimits& limits);

}  // namespace ipex_studio
