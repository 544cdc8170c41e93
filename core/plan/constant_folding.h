// Values that depend on constants only are computed once, when the plan is made: masks, tables of positions and the like
// that a model builds from the sizes of its inputs. They are computed on the host. Private to core/plan.
#pragma once

#include "core/plan/plan_layouts.h"

namespace ipex_studio {

// True if every source is constant, there is one, and the results are not empty and not over kMaxComputedBytesEach.
bool dependsOnConstants(const PlanValues& values, const SizedOp& op);

class ConstantFolding {
 public:
  ConstantFolding(PlanValues& values, const KernelChooser& chooser, PlanLayouts& layouts, KeptConstants& kept)
      : values_(values), chooser_(chooser), layouts_(layouts), kept_(kept) {}

  // False, and nothing changed: some source is no constant, the result is large, or the operation fails on this data,
  // which is for the run to say.
  bool fold(const SizedOp& op);

 private:
  PlanValues& values_;
  const KernelChooser& chooser_;
  PlanLayouts& layouts_;
  KeptConstants& kept_;
};

}  // namespace ipex_studio
