// Measures how many samples of a batch are best computed at a time. Private to the tuner.
//
// Fewer samples at a time keep what steps hand to each other in the caches; more read each weight less often and give
// threads more to share. Which counts for more depends on the network and the machine, so plans of the default kernels
// for halves, quarters … of the batch run against the plan for all of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/plan/plan.h"
#include "core/record/tuning_store.h"
#include "core/tune/tuner_clock.h"

namespace ipex_studio {

struct SliceSearch {
  bool may_measure = true;  // false: only what the store holds
  std::int32_t effort = 1;
  std::int64_t budget_ns = 2'000'000'000;  // approximate
  TuneClock clock;
};

struct MicroBatchChoice {
  std::shared_ptr<const MicroBatches> micro_batches;  // proven; null: the whole batch at once
  std::optional<TuningEntry> entry;                   // the measurement, new or from the store
};

// Looks into the store first and adds what it measures: an entry "slices of plan <sha256>" (the first records called
// micro-batches slices) with a candidate for each number of samples (TuningCandidate::node), the chosen one first.
// `plan_name`: planText() of the request. `weights`: as for tunePlan.
MicroBatchChoice chooseMicroBatches(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels,
                                    TuningStore& store, WeightCache& weights, const TuningKey& key,
                                    const std::string& plan_name, const SliceSearch& search);

}  // namespace ipex_studio
