// PlanCache::Rounds: one plan for the rounds of a loop. Private to kernels/torch/plans.
#pragma once

#include <memory>

#include "kernels/torch/plans/plan_cache.h"

namespace ipex_studio {

// Looks the plan of one signature up once and keeps one of its instances, so that a round costs what its steps cost.
// One thread. Lives no longer than the cache, and than what `tensors` refers to.
class PlanCache::Rounds {
 public:
  Rounds(const PlanCache& cache, c10::ArrayRef<const at::Tensor*> tensors, at::IntArrayRef ints);
  ~Rounds();
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  // False: there is no plan of just these sizes yet, or somebody looks at the values of each run.
  bool ready() const { return lease_ != nullptr; }
  const std::vector<TensorDesc>& outputs() const;
  // `tensors`: the memory of each tensor input, laid out as the tensors that the plan was found by; `outputs`: of each
  // output, row-major. Throws as PlanCache::run() does.
  void run(const void* const* tensors, void* const* outputs);

 private:
  const PlanCache& cache_;
  std::unique_ptr<Lease> lease_;
  std::vector<std::int64_t> begin_ns_, elapsed_ns_;  // of the steps, in profiles
};

}  // namespace ipex_studio
