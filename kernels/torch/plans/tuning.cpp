#include "kernels/torch/plans/tuning.h"

#include <omp.h>

#include <algorithm>
#include <chrono>

#include "core/base/sha256.h"
#include "core/record/records_json.h"
#include "core/runtime/machine_facts.h"
#include "kernels/kernel_list.h"
#include "kernels/onednn/onednn_version.h"
#include "kernels/torch/plans/plan_cache.h"

namespace ipex_studio {
namespace {

constexpr double kQuickBudget_s = 8, kFullBudget_s = 50;

constexpr const char kPlanWay[] = "plan", kInterpreterWay[] = "interpreter";

// Name of the entry that holds the times of a region and of the interpreter, the chosen way first. With other kernels
// the choice may be another.
std::string verdictName(const std::string& region) {
  Sha256 digest;
  const auto add = [&](const std::string& text) { digest.update(text.data(), text.size()); };
  add(region);
  for (int kind = 0; kind < kOpKindCount; ++kind) {
    for (const Kernel* kernel : processKernels().candidates(static_cast<OpKind>(kind), DeviceKind::kCpu))
      add(std::string(kernel->name()) + "\n");
  }
  return "region " + digest.hex();
}

TuningKey keyNow(const std::string& libraries) { return {"cpu", machineFacts().isa, libraries, omp_get_max_threads()}; }

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
                         WeightCache& weights, bool may_measure, const Sha256* spec_digest) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  TuneOptions options = options_;
  if (!may_measure) options.mode = TuneMode::kOff;
  options.spec_digest = spec_digest;
  options.budget_s = std::max(0.05, budget_s_ - 1e-9 * static_cast<double>(spent_ns_));
  TunedPlan tuned = tunePlan(spec, request, kernels, store_, weights, options);
  spent_ns_ += std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
  return tuned;
}

std::string Tuning::record(bool fresh) const { return dumpJson(store_.toJson(fresh)); }

std::vector<std::int64_t> Tuning::progress() const { return {done_, total_, spent_ns_}; }

std::vector<std::int64_t> Tuning::verdict(const std::string& region) const {
  const auto known = store_.find(keyNow(options_.libraries), verdictName(region), 1);
  if (!known || known->candidates.size() != 2) return {};
  std::int64_t region_ns = 0, interpreter_ns = 0;
  for (const TuningCandidate& way : known->candidates)
    (way.kernel == kPlanWay ? region_ns : interpreter_ns) = way.elapsed_ns;
  return {known->candidates[0].kernel == kInterpreterWay ? 1 : 0, region_ns, interpreter_ns};
}

void Tuning::putVerdict(const std::string& region, bool given_up, std::int64_t region_ns, std::int64_t interpreter_ns) {
  TuningCandidate plan, interpreter;
  plan.kernel = kPlanWay;
  plan.elapsed_ns = region_ns;
  interpreter.kernel = kInterpreterWay;
  interpreter.elapsed_ns = interpreter_ns;
  (given_up ? plan : interpreter).reason = "slower";
  TuningEntry entry{verdictName(region), options_.mode == TuneMode::kFull ? 2 : 1, {plan, interpreter}};
  if (given_up) std::swap(entry.candidates[0], entry.candidates[1]);
  store_.put(keyNow(options_.libraries), std::move(entry));
}

}  // namespace ipex_studio
