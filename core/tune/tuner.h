// Measured choice: for each step of a plan, every kernel, layout and split of post-operations that could compute it is
// timed on this machine with the real shapes and weights; the choice minimizes the time of the whole plan, conversions
// between layouts included.
//
//   0. where samples do not depend on each other, measure how many of a batch are best computed at a time, and go on
//      with that many (tuner_micro_batches.h);
//   1. trace the spec at its sizes;
//   2. prepare and time the candidates of each distinct step (what the store already knows is not measured again);
//   3. refuse those whose results are further from the default kernel's than the tolerance, one step of rounding aside
//      where results are integers or floats of two bytes;
//   4. time the conversions between the layouts that neighbours could exchange;
//   5. choose by a partitioned Boolean quadratic problem (pbqp.h);
//   6. time two of the chosen steps as one where a kernel computes both (tuner_pointwise_depthwise.h); choose again;
//   7. run the chosen plan against the default one, and keep it only if it is faster.
// Activations are warm while a candidate is timed; weights come from memory, as they do in a network of many layers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/sha256.h"
#include "core/plan/plan.h"
#include "core/record/options.h"
#include "core/record/tuning_store.h"

namespace ipex_studio {

// Largest max |Δ| / max |result| that an algorithm with other rounding may have. F(4,3) Winograd in fp32 stays around
// 1e-5 on trained weights; F(6,3) and overflowing sums do not.
constexpr double kTuneTolerance = 1e-4;

struct TuneOptions {
  TuneMode mode = TuneMode::kQuick;
  bool allow_winograd = true;
  double tolerance = kTuneTolerance;
  double budget_s = 0;                                // for one plan, as WorkTime counts; 0: 8 for quick, 50 for full
  std::string libraries;                              // for TuningKey
  const Sha256* spec_digest = nullptr;                // of the spec (tuner_key.h); null: computed where it is needed
  std::function<std::int64_t()> clock_ns;             // empty: the steady clock; else budgets, too, are on it
  std::function<void(int done, int total)> progress;  // steps; may be empty
};

struct TunedPlan {
  std::shared_ptr<const PlanChoices> choices;         // null: nothing but the defaults
  std::shared_ptr<const MicroBatches> micro_batches;  // null: the whole batch at once
  TuningKey key;
  std::vector<TuningEntry> entries;  // records to keep for the same choice; empty: no decision
};

// Chooses kernels and layouts for this signature. With TuneMode::kOff it only reads what the store holds for exactly
// this plan; else it adds its measurements to the store. `weights`: where the plan finds its packed constants; those
// packed for plans that were only tried stay there until releaseUnused(). Throws what preparing and running kernels
// throws.
TunedPlan tunePlan(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels, TuningStore& store,
                   WeightCache& weights, const TuneOptions& options);

}  // namespace ipex_studio
