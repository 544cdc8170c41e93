#include "kernels/torch/plans/tuning.h"

#include <algorithm>
#include <chrono>

#include "core/record/records_json.h"
#include "kernels/onednn/onednn_version.h"

namespace ipex_studio {
namespace {

constexpr double kQuickBudget_s = 8, kFullBudget_s = 50;

TuneMode modeOf(const std::string& name) {
  if (name == "quick") return TuneMode::kQuick;
  return name == "full" ? TuneMode::kFull : TuneMode::kOff;
}

}  // namespace

std::string tuningLibraries() { return "ipex-studio " IPEX_STUDIO_VERSION ", oneDNN " + onednnVersion(); }

Tuning::Tuning(const std::string& mode, bool allow_winograd, const std::string& record) {
  options_.mode = modeOf(mode);
  options_.allow_winograd = allow_winograd;
  options_.libraries = tuningLibraries();
  options_.progress = [this](int done, int total) {
    done_ = done;
    total_ = total;
  };
  budget_s_ = options_.mode == TuneMode::kFull ? kFullBudget_s : kQuickBudget_s;
  store_.readText(record);
}

TunedPlan Tuning::choose(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels,
                         WeightCache& weights, bool may_measure) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  TuneOptions options = options_;
  if (!may_measure) options.mode = TuneMode::kOff;
  options.budget_s = std::max(0.05, budget_s_ - 1e-9 * static_cast<double>(spent_ns_));
  TunedPlan tuned = tunePlan(spec, request, kernels, store_, weights, options);
  spent_ns_ += std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
  return tuned;
}

std::string Tuning::record(bool fresh) const { return dumpJson(store_.toJson(fresh)); }

std::vector<std::int64_t> Tuning::progress() const { return {done_, total_, spent_ns_}; }

}  // namespace ipex_studio
