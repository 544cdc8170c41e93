#include "studio/python/tuned_plan.h"

#include "core/lower/region_object.h"
#include "core/torch/torch_error.h"
#include "passes/optimize.h"

namespace ipex_studio {

TunedPlan::TunedPlan(const torch::jit::Module& module, const Inputs& example, const std::string& record,
                     double budget_s) {
  OptimizeOptions options;
  options.tune = TuneMode::kQuick;
  options.tuning_record = record;
  Observer silent;
  OptimizedModel optimized = optimizeModel(module, example, options, silent);
  try {
    setTuningBudget(optimized.tuning, budget_s);
    eliminateSlowRegions(optimized, example, options, silent);
    setNewSizes(optimized.module, options.new_sizes, /*from_now_on=*/true);
  } catch (const c10::Error& problem) {
    throw runError(problem);
  }
  module_ = optimized.module;
  tuning_ = optimized.tuning;
}

std::string TunedPlan::measured() const { return tuningRecord(tuning_, /*fresh=*/true); }

double TunedPlan::measuringSeconds() const { return 1e-9 * static_cast<double>(tuningProgress(tuning_).spent_ns); }

}  // namespace ipex_studio
