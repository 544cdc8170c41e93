// One operation of a spec as two steps: where no kernel takes its post-operations, and where an operand that was fused
// onto it broadcasts the other way at these sizes. Private to core/plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/op/op_spec.h"
#include "core/plan/plan_walk.h"

namespace ipex_studio {

struct SplitOp {
  OpSpec head, tail;  // the tail is a pointwise chain
  // Of the given sources. The tail's first operand, the head's result, is left out.
  std::vector<std::int32_t> head_src, tail_src;
};

// The first `kept` post-operations stay with `op`, the others become a pointwise chain. Every operand that the
// post-operations name must be in `src`.
SplitOp splitOp(const OpSpec& op, std::size_t kept, const std::vector<std::int32_t>& src);

// Computes the operation in two halves, the first `kept` post-operations with the head, by calls of `sink`. `measured`:
// the choice for the head; null: none.
void computeSplit(const SizedOp& op, std::size_t kept, const StepChoice* measured, PlanValues& values,
                  OperationSink& sink);

// Computes an operation that cannot be done at these sizes as two that can: an operand had the size of the result when it
// was fused, which would have to grow now. `dims` of `op` are not read. False, and nothing computed, if the operation
// failed for another reason.
bool computeApart(const SizedOp& op, PlanValues& values, OperationSink& sink);

}  // namespace ipex_studio
