// PlanCache: compiled plans of one PlanSpec, one per input signature, with their idle instances.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <torch/script.h>

#include "core/plan/plan.h"

namespace ipex_studio {

// The process's kernels: one oneDNN engine for all plans, as oneDNN advises.
const KernelList& processKernels();

// Samples of plan steps while somebody profiles.
struct PlanProfile {
  std::vector<StepRecord> steps;
  std::vector<DispatchRecord> dispatches;
  std::vector<std::vector<std::int64_t>> begin_ns;    // per step, per run; steady clock
  std::vector<std::vector<std::int64_t>> elapsed_ns;  // per step, per run
};

// Thread-safe: runs may overlap; each takes an instance (arena) of its own, idle ones are kept for the next run.
class PlanCache {
 public:
  // `constants` must be row-major and match spec.constants. Throws Error(kBadModel) where they do not.
  PlanCache(PlanSpec spec, std::vector<at::Tensor> constants);
  ~PlanCache();

  // tensors: per tensor input in order; ints: per integer input in order. Results are fresh row-major tensors.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& tensors, const std::vector<std::int64_t>& ints);

  // While set, runs append their step times. Null ends profiling. Only the thread that runs may set it.
  void setProfile(std::shared_ptr<PlanProfile> profile) { profile_ = std::move(profile); }

  const PlanSpec& spec() const { return spec_; }
  const std::vector<at::Tensor>& constants() const { return constants_; }
  std::size_t packedBytes() const { return weights_.bytes(); }

 private:
  struct Entry {
    PlanRequest request;
    std::unique_ptr<Plan> plan;
    std::vector<std::unique_ptr<Plan::Instance>> idle;
  };

  std::shared_ptr<Entry> entryFor(const std::vector<at::Tensor>& tensors, const std::vector<std::int64_t>& ints);
  bool matches(const PlanRequest& request, const std::vector<at::Tensor>& tensors, const std::vector<std::int64_t>& ints,
               int threads) const;
  PlanRequest makeRequest(const std::vector<at::Tensor>& tensors, const std::vector<std::int64_t>& ints, int threads) const;

  PlanSpec spec_;
  std::vector<at::Tensor> constants_;
  WeightCache weights_;
  std::mutex mutex_;
  std::list<std::shared_ptr<Entry>> entries_;  // most recently used first
  std::shared_ptr<PlanProfile> profile_;
};

}  // namespace ipex_studio
