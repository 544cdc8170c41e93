// PlanSteps: the steps of a plan that is being compiled, in order, with what is recorded of each. Private to core/plan.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/plan/kernel_choice.h"
#include "core/plan/plan_values.h"
#include "core/plan/sized_op.h"

namespace ipex_studio {

class PlanSteps {
 public:
  struct Step {
    std::shared_ptr<const PreparedOp> op;
    Device* device = nullptr;            // where it runs; for a copy: the one of the two that is not the host
    std::vector<std::int32_t> src, dst;  // values; -1: absent or packed
    OpSpec spec;
    StepRecord record;
  };

  explicit PlanSteps(PlanValues& values) : values_(values) {}

  // Appends a step and gives its results their places: the memory of a source where the kernel works in place, or where
  // it may and that source dies. `ready`: the values that the step reads, in the layouts it reads; -1: absent or
  // packed. `dies`: per source of `op`.
  void append(const KernelChoice& choice, const SizedOp& op, const std::vector<std::int32_t>& ready,
              const std::vector<bool>& dies);

  // Appends a step that copies the value to the device `to`, and returns the copy. `other`: the device of the two that
  // is not the host.
  std::int32_t appendCopy(std::int32_t value, const DeviceId& to, Device& other, const StepLabel& label);

  std::vector<Step>& all() { return steps_; }
  // Expected time of all copies between devices.
  double copyNs() const { return copy_ns_; }
  std::vector<DispatchRecord>& dispatches() { return dispatches_; }

 private:
  PlanValues& values_;
  std::vector<Step> steps_;
  std::vector<DispatchRecord> dispatches_;
  double copy_ns_ = 0;
};

}  // namespace ipex_studio
