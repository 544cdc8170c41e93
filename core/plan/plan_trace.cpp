// A sink of the walk that lists operations instead of preparing kernels for them.
#include "core/plan/plan_trace.h"

#include <utility>

#include "core/plan/constant_folding.h"
#include "core/plan/plan_walk.h"

namespace ipex_studio {
namespace {

class PlanTracer final : public OperationSink {
 public:
  PlanTracer(const PlanRequest& request, PlanValues& values, bool fold)
      : request_(request), values_(values), fold_(fold) {}

  std::vector<TracedStep> take() { return std::move(steps_); }

  bool computesJoined(const PlanNode&) override { return false; }

  void compute(const SizedOp& op, const StepChoice*) override {
    if (fold_ && dependsOnConstants(values_, op)) {
      for (std::size_t d = 0; d < op.dst.size(); ++d) {
        values_[op.dst[d]].desc = op.dims[d];
        values_[op.dst[d]].computed = true;
      }
      return;
    }
    TracedStep step{values_.node(), op.op, op.src, op.dst, values_.argsOf(op.op, op.src, op.dims), true};
    step.args.target = request_.target;
    for (const std::int32_t value : op.dst) step.whole = step.whole && values_.isOfSpec(value);
    // A step that is computed apart shares its node with others, so no kernel can be chosen for any of them.
    if (!steps_.empty() && steps_.back().node == step.node) step.whole = steps_.back().whole = false;
    for (std::size_t d = 0; d < op.dst.size(); ++d) values_.allocate(op.dst[d], op.dims[d]);
    steps_.push_back(std::move(step));
  }

  void noteView(const SizedOp& view) override {
    PrepareArgs args;
    args.src = values_.descsOf(view.src);
    args.dst = view.dims;
    steps_.push_back({values_.node(), view.op, view.src, view.dst, std::move(args), true});
  }

  // Stands for the copy that a plan would make.
  std::int32_t rowMajor(std::int32_t value, const StepLabel&) override {
    const TensorDesc plain = contiguousDesc(values_[value].desc.dtype, values_[value].desc.dims);
    const std::int32_t made = values_.newValue(plain, values_[value].group);
    values_[made].computed = values_[value].isConstant();
    if (!values_[made].computed) values_.allocate(made, plain);
    return made;
  }

 private:
  const PlanRequest& request_;
  PlanValues& values_;
  const bool fold_;
  std::vector<TracedStep> steps_;
};

}  // namespace

std::vector<TracedStep> tracePlan(const PlanSpec& spec, const PlanRequest& request, bool fold) {
  PlanValues values(spec, request);
  PlanTracer tracer(request, values, fold);
  walkPlan(spec, request, values, tracer);
  return tracer.take();
}

}  // namespace ipex_studio
