// Walks the nodes of a spec for one input signature: resolves sizes, infers shapes, lets views be views, and hands every
// other operation to a sink. Private to core/plan.
#pragma once

#include <cstdint>

#include "core/plan/plan_values.h"
#include "core/plan/sized_op.h"

namespace ipex_studio {

// PlanCompiler makes steps of the operations, PlanTracer a list.
class OperationSink {
 public:
  virtual ~OperationSink() = default;
  // True if this node needs nothing more: it is computed here, or was, as one with another node.
  virtual bool computesJoined(const PlanNode& node) = 0;
  // Computes the operation and gives its results their places. `measured`: a choice that was measured for it; null: none.
  virtual void compute(const SizedOp& op, const StepChoice* measured) = 0;
  // A view, before it is made.
  virtual void noteView(const SizedOp& view) = 0;
  // The same tensor dense and row-major: what a view is made of that cannot be had in the value's own layout.
  virtual std::int32_t rowMajor(std::int32_t value, const StepLabel& label) = 0;
};

// Throws Error(kFailure) where the spec does not fit the inputs, and whatever `sink` throws.
void walkPlan(const PlanSpec& spec, const PlanRequest& request, PlanValues& values, OperationSink& sink);

}  // namespace ipex_studio
