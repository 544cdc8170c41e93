// Tuning: how the regions of a model choose their kernels, and what they measured, as one TorchScript object they
// share.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include <torch/custom_class.h>

#include "core/tune/tuner.h"

namespace ipex_studio {

// The libraries that measurements of this build are valid for.
std::string tuningLibraries();

// Thread-safe.
class Tuning : public torch::CustomClassHolder {
 public:
  // mode: "off", "quick", "full"; record: earlier measurements, as MemoryTuningStore writes them. Other modes read as
  // "off", other records as empty.
  Tuning(const std::string& mode, bool allow_winograd, const std::string& record);

  // All measuring together takes no longer than about so long (s).
  void setBudget(double budget_s) { budget_s_ = budget_s; }
  // `may_measure`: false for later sizes, which take known choices. All regions share one time budget. `spec_digest`:
  // as in TuneOptions.
  TunedPlan choose(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels, WeightCache& weights,
                   bool may_measure, const Sha256* spec_digest);

  // The record of everything known, or only of what this process measured.
  std::string record(bool fresh) const;
  // Steps measured, steps in all, time spent (ns).
  std::vector<std::int64_t> progress() const;

  // What is known of a region against the interpreter on this machine: {1 if it was given up, time of the region, time
  // of the interpreter (ns)}; empty: nothing. `region` says all that the times depend on beside the machine and the
  // kernels.
  std::vector<std::int64_t> verdict(const std::string& region) const;
  void putVerdict(const std::string& region, bool given_up, std::int64_t region_ns, std::int64_t interpreter_ns);

 private:
  TuneOptions options_;
  double budget_s_ = 0;
  MemoryTuningStore store_;
  std::atomic<std::int64_t> done_{0}, total_{0}, spent_ns_{0};
};

}  // namespace ipex_studio
