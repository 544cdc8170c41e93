// Walks the nodes of a spec for one input signature: resolves sizes, infers shapes, makes views, and hands every other
// operation to a sink. Private to core/plan.
#pragma once

#include <cstdint>

#include "core/plan/plan_values.h"
#include "core/plan/sized_op.h"

namespace ipex_studio {

// Receives the operations: PlanCompiler makes steps of them, PlanTracer a list.
class OperationSink {
 public:
  virtual ~OperationSink() = default;
  // True if this node needs nothing more: it is computed here together with another node, or was with an earlier one.
  virtual bool computesJoined(const PlanNode& node) = 0;
  // Computes the operation and gives its results their places. `measured`: the choice that was measured for it; null:
  // none.
  virtual void compute(const SizedOp& op, const StepChoice* measured) = 0;
  // Called for a view before it is made.
  virtual void noteView(const SizedOp& view) = 0;
  // The same tensor dense and row-major, for a view that cannot be made of the value's own layout.
  virtual std::int32_t rowMajor(std::int32_t value, const StepLabel& label) = 0;
};

// Walks the whole spec. Throws Error(kFailure) where the spec does not fit the inputs, and whatever `sink` throws.
void walkPlan(const PlanSpec& spec, const PlanRequest& request, PlanValues& values, OperationSink& sink);

}  // namespace ipex_studio
