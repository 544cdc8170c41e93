// PlanLayouts: values in the layouts that kernels read. Private to core/plan.
//
// A value keeps its copies in other layouts, so that each is made once: by a step that every run repeats, or, of a
// constant, when the plan is compiled.
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

  // The value in this layout: itself, another view of its memory, or a copy.
  std::int32_t inLayout(std::int32_t value, const TensorDesc& wanted, const StepLabel& label);
  // Its copy in a buffer of its own, made by a step.
  std::int32_t reorderStep(std::int32_t value, const TensorDesc& wanted, const StepLabel& label);
  // The operation's sources as `prepared` reads them; -1: absent or packed.
  std::vector<std::int32_t> sourcesFor(const PreparedOp& prepared, const std::vector<std::int32_t>& src,
                                       const StepLabel& label);
  // True if the conversion costs runs nothing: the value is constant and its copy may be kept.
  bool isConvertedOnce(std::int32_t value, const TensorDesc& wanted) const;

 private:
  bool staysWithWeights(std::int32_t value, const TensorDesc& wanted) const;
  std::int32_t reorderConstant(std::int32_t value, const TensorDesc& wanted, const StepLabel& label);
  KernelChoice chooseReorder(std::int32_t value, const TensorDesc& wanted, const StepLabel& label) const;

  PlanValues& values_;
  const KernelChooser& chooser_;
  PlanSteps& steps_;
  KeptConstants& kept_;
  WeightCache& weights_;
};

}  // namespace ipex_studio
