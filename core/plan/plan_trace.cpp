// PlanCompiler without kernels: which operations a plan will have, at which sizes.
#include <utility>

#include "core/plan/plan_compiler.h"

namespace ipex_studio {

std::vector<TracedStep> PlanCompiler::trace(bool fold) {
  std::vector<TracedStep> steps;
  traced_ = &steps;
  folds_ = fold;
  emitNodes();
  return steps;
}

std::vector<TracedStep> tracePlan(const PlanSpec& spec, const PlanRequest& request, bool fold) {
  class NoKernels final : public KernelList {
   public:
    const std::vector<const Kernel*>& candidates(OpKind, DeviceKind) const override { return none_; }

   private:
    std::vector<const Kernel*> none_;
  };
  const NoKernels kernels;
  WeightCache weights;
  return PlanCompiler(spec, request, kernels, weights).trace(fold);
}

// A step that is emitted apart shares its node with others, so no kernel can be chosen for any of them.
void PlanCompiler::traceStep(const OpSpec& op, const std::vector<std::int32_t>& src,
                             const std::vector<std::int32_t>& dst, const std::vector<TensorDesc>& dims) {
  TracedStep step{node_, op, src, dst, prepareArgs(op, src, dims), true};
  step.args.weights = nullptr;
  for (std::int32_t value : dst) step.whole = step.whole && value < spec_values_;
  if (!traced_->empty() && traced_->back().node == node_) step.whole = traced_->back().whole = false;
  for (std::size_t d = 0; d < dst.size(); ++d) {
    Value& value = values_[dst[d]];
    value.desc = dims[d];
    value.offset = 0;
    const std::int32_t buffer = newBuffer(dims[d].bytes());
    values_[dst[d]].buffer = buffer;
  }
  traced_->push_back(std::move(step));
}

}  // namespace ipex_studio
