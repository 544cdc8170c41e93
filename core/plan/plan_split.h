// Computes one operation of a spec as two steps: where no kernel takes its post-operations, and where an operand that
// was fused onto it broadcasts the other way at these sizes. Private to core/plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/op/op_spec.h"
#include "core/plan/plan_walk.h"

namespace ipex_studio {

struct SplitOp {
  OpSpec head, tail;  // the tail is a pointwise chain
  // Subsets of the sources. `tail_src` lacks the first operand of the tail, which is the result of the head.
  std::vector<std::int32_t> head_src, tail_src;
};

// Keeps the first `kept` post-operations with `op` and makes a pointwise chain of the others. Every operand that the
// post-operations name must be in `src`.
SplitOp splitOp(const OpSpec& op, std::size_t kept, const std::vector<std::int32_t>& src);

// Computes the operation in two halves, the first `kept` post-operations with the head, by calls of `sink`. `measured`:
// the choice for the head; null: none.
void computeSplit(const SizedOp& op, std::size_t kept, const StepChoice* measured, PlanValues& values,
                  OperationSink& sink);

// Computes an operation that is invalid at these sizes as two that are valid: an operand had the size of the result
// when it was fused, and the result would have to grow now. Does not read `dims` of `op`. False, with nothing computed,
// if the operation is invalid for another reason.
bool computeApart(const SizedOp& op, PlanValues& values, OperationSink& sink);

}  // namespace ipex_studio
