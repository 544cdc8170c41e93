#include "kernels/torch/plans/plan_cache_rounds.h"

#include "kernels/torch/plans/plan_cache_entry.h"

namespace ipex_studio {

PlanCache::Rounds::Rounds(const PlanCache& cache, c10::ArrayRef<const at::Tensor*> tensors, at::IntArrayRef ints)
    : cache_(cache) {
  if (!cache.buckets_.empty() || cache.value_hook_) return;
  const Signature signature(cache, tensors, ints);
  if (Entry* entry = cache.hold(signature)) lease_ = std::make_unique<Lease>(cache, entry);
}

PlanCache::Rounds::~Rounds() = default;

const std::vector<TensorDesc>& PlanCache::Rounds::outputs() const { return lease_->plan().outputs(); }

void PlanCache::Rounds::run(const void* const* tensors, void* const* outputs) {
  Running& running = lease_->running();
  std::size_t next = 0;
  for (std::size_t i = 0; i < cache_.spec_.inputs.size(); ++i) {
    if (!cache_.spec_.inputs[i].is_int) running.inputs[i] = tensors[next++];
  }
  if (!cache_.profile_) return running.instance.run(running.inputs.data(), outputs);
  begin_ns_.resize(lease_->plan().steps().size());
  elapsed_ns_.resize(begin_ns_.size());
  running.instance.runTimed(running.inputs.data(), outputs, begin_ns_.data(), elapsed_ns_.data());
  lease_->entry().addTimes(*cache_.profile_, begin_ns_, elapsed_ns_);
}

}  // namespace ipex_studio
