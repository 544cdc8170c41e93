// PlanCompiler: PlanSpec + input signature → Plan. Private to core/plan.
//
// Walks the nodes (plan_walk.h) and makes steps of their operations. For each one:
//   1. what depends on constants alone is computed now (constant_folding.h);
//   2. a measured choice or the kernel list says which kernel computes the rest, on the target or, where that has none
//      or copies would take longer (core/runtime/placement.h), on the host (kernel_choice.h);
//   3. its sources are brought to that device and into the layouts that the kernel reads (plan_layouts.h);
//   4. a concatenation is built in place where that saves a copy (plan_concat.h);
//   5. post-operations that no kernel takes become a step of their own (plan_split.h).
// Then outputs are bound, and all buffers get their places in one arena per device (plan_arena.h).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/plan/constant_folding.h"
#include "core/plan/plan_parts.h"
#include "core/plan/plan_walk.h"

namespace ipex_studio {

class PlanCompiler final : private OperationSink {
 public:
  PlanCompiler(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels, WeightCache& weights);

  // Compiles the plan; to be called once. Throws Error(kFailure) as Plan::compile does.
  PlanParts compile();

 private:
  bool computesJoined(const PlanNode& node) override;
  void compute(const SizedOp& op, const StepChoice* measured) override;
  void noteView(const SizedOp&) override {}
  std::int32_t rowMajor(std::int32_t value, const StepLabel& label) override;

  // True if the plan would look for NaN in a large input for the sake of this operation's clamp alone, so that a clamp
  // of our own costs less.
  bool clampsDearly(const SizedOp& op, const PreparedOp& prepared) const;
  bool computeMeasured(const SizedOp& op, const StepChoice& measured);
  bool computeOn(Device& device, const SizedOp& op, std::vector<DispatchRecord>* declined);
  void addStep(const KernelChoice& choice, const SizedOp& op, const std::vector<bool>& dies);
  void bindOutputs(PlanParts* parts);

  const PlanSpec& spec_;
  const PlanRequest& request_;
  PlanValues values_;
  KernelChooser chooser_;
  PlanSteps steps_;
  KeptConstants kept_;
  PlanLayouts layouts_;
  ConstantFolding folding_;
  std::vector<std::int32_t> joinable_;         // per node: joinableReaders(); empty until needed
  std::map<std::int32_t, std::string> moved_;  // nodes that stay on the host since copies count, and why
  std::set<std::int32_t> computed_before_;     // nodes computed in the step of an earlier one
};

}  // namespace ipex_studio
