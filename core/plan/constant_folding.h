// ConstantFolding: computes values that depend on constants only, once, when the plan is made: masks, tables of
// positions and the like that a model builds from the sizes of its inputs. Runs on the host. Private to core/plan.
#pragma once

#include "core/plan/plan_layouts.h"

namespace ipex_studio {

// True if there is a source, every source is constant, and the results are not empty and not over
// kMaxComputedBytesEach.
bool dependsOnConstants(const PlanValues& values, const SizedOp& op);

class ConstantFolding {
 public:
  ConstantFolding(PlanValues& values, const KernelChooser& chooser, PlanLayouts& layouts, KeptConstants& kept)
      : values_(values), chooser_(chooser), layouts_(layouts), kept_(kept) {}

  // Computes the results and keeps them as constants of the plan. False, with nothing changed, if some source is no
  // constant, the results are too large, or the operation fails on this data: the run reports that.
  bool fold(const SizedOp& op);

 private:
  PlanValues& values_;
  const KernelChooser& chooser_;
  PlanLayouts& layouts_;
  KeptConstants& kept_;
};

}  // namespace ipex_studio
