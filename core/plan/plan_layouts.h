// PlanLayouts: brings values into the layouts, and to the devices, that kernels read. Private to core/plan.
//
// A value remembers its copies, so that each is made once: by a step that every run repeats, or, for a constant, when
// the plan is compiled. Where both layout and device change, the side that makes the copy smaller converts.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/kept_constants.h"
#include "core/plan/kernel_choice.h"
#include "core/plan/plan_steps.h"
#include "core/plan/plan_values.h"

namespace ipex_studio {

class PlanLayouts {
 public:
  PlanLayouts(PlanValues& values, const KernelChooser& chooser, PlanSteps& steps, KeptConstants& kept,
              WeightCache& weights)
      : values_(values), chooser_(chooser), steps_(steps), kept_(kept), weights_(weights) {}

  // The value in this layout on this device: itself, a known copy, another view of its memory, or a new copy.
  std::int32_t inLayout(std::int32_t value, const TensorDesc& wanted, const StepLabel& label);
  // Copies the value into a buffer that no other value has, by a step that writes only the elements of `wanted`.
  std::int32_t reorderStep(std::int32_t value, const TensorDesc& wanted, const StepLabel& label);
  // True if reorderStep() can write this description without touching what lies between its elements.
  bool canWrite(std::int32_t value, const TensorDesc& wanted) const;
  // The operation's sources as `prepared` reads them; -1: absent or packed.
  std::vector<std::int32_t> sourcesFor(const PreparedOp& prepared, const std::vector<std::int32_t>& src,
                                       const StepLabel& label);
  // True if runs do not repeat the conversion: the value is constant and its copy on the host may be kept.
  bool isConvertedOnce(std::int32_t value, const TensorDesc& wanted) const;

 private:
  // True if the device reads the value where it lies on the host: in an input, which nothing overwrites while the
  // device works.
  bool isReadInPlace(std::int32_t value, const DeviceId& device) const;
  bool staysWithWeights(std::int32_t value, const TensorDesc& wanted) const;
  std::int32_t onDevice(std::int32_t value, const DeviceId& device, const StepLabel& label);
  std::int32_t constantOnDevice(std::int32_t value, const TensorDesc& wanted, const StepLabel& label);
  std::int32_t reorderConstant(std::int32_t value, const TensorDesc& wanted, const StepLabel& label);
  std::int32_t reorderOn(Device& device, std::int32_t value, const TensorDesc& wanted, const StepLabel& label);
  std::int32_t copyStep(std::int32_t value, const DeviceId& device, const StepLabel& label);
  Device& reorderSide(std::int32_t value, const TensorDesc& wanted) const;
  KernelChoice chooseReorder(Device& device, std::int32_t value, const TensorDesc& wanted) const;

  PlanValues& values_;
  const KernelChooser& chooser_;
  PlanSteps& steps_;
  KeptConstants& kept_;
  WeightCache& weights_;
};

}  // namespace ipex_studio
