// SizedOp: one operation of a spec with all sizes known. walkPlan() makes them, an OperationSink computes them. Private
// to core/plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/op/op_spec.h"
#include "core/op/tensor_view.h"
#include "core/record/records.h"

namespace ipex_studio {

// Name and origins of a step.
struct StepLabel {
  std::string name;
  std::vector<OriginId> origins;
};

struct SizedOp {
  OpSpec op;
  std::vector<std::int32_t> src, dst;  // values (plan_values.h); -1: absent
  std::vector<TensorDesc> dims;        // per result: dtype and dims, as if it were row-major
  StepLabel label;
};

// Throws Error(kFailure): the spec does not fit the inputs that the plan is compiled for. `why` ends up in the message.
[[noreturn]] void refuseInputs(const StepLabel& label, const std::string& why);

}  // namespace ipex_studio
