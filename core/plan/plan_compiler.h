// PlanCompiler: PlanSpec + input signature → Plan. Private to core/plan.
//
// Forward over the nodes: resolve sizes, infer shapes, let views be views, let the kernel list choose, insert reorders
// where a kernel reads another layout than its producer wrote (each value keeps its reordered copies, so a reorder is
// made once), accumulate in place where an operand dies. Then: outputs, lifetimes, arena, pointer table.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/plan.h"
#include "core/plan/plan_concat.h"

namespace ipex_studio {

// One tensor operation of a spec with all sizes known, as if every result were row-major.
struct TracedStep {
  std::int32_t node = 0;
  OpSpec op;
  std::vector<std::int32_t> src, dst;  // values of the spec; -1: absent
  PrepareArgs args;                    // what kernels would be asked for; no `weights`. Views: src and dst alone
  bool whole = true;                   // false: at these sizes it is computed as several steps
};

// Every tensor operation of the spec, in order. Throws as Plan::compile does; prepares nothing. `fold`: without what a plan
// computes once from constants.
std::vector<TracedStep> tracePlan(const PlanSpec& spec, const PlanRequest& request, bool fold = true);

class PlanCompiler {
 public:
  PlanCompiler(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels, WeightCache& weights)
      : spec_(spec), request_(request), kernels_(kernels), weights_(weights), spec_values_(spec.valueCount()) {}

  std::unique_ptr<Plan> compile();
  std::vector<TracedStep> trace(bool fold);

 private:
  // A tensor and its place. Values share a buffer if one is a view of another or accumulates into it.
  struct Value {
    bool is_int = false;
    std::int64_t integer = 0;
    TensorDesc desc;
    std::int32_t buffer = -1;
    std::int64_t offset = 0;           // bytes
    const void* constant = nullptr;    // first element
    bool computed = false;             // depends on constants only, is computed here: the plan's own constant
    std::int32_t group = -1;           // alias group of the spec: a value and its views
    std::vector<std::int32_t> copies;  // the same tensor in other layouts
  };
  struct Buffer {
    Plan::Home home = Plan::Home::kArena;
    std::int32_t index = 0;  // input or output number
    std::size_t bytes = 0;
    std::int32_t parent = -1;  // the buffer that this one is a part of, from byte `offset` on
    std::int64_t offset = 0;
    std::int32_t needed_until = -1;  // last node that reads any of the values that its parts hold
  };
  // The place of a value once all parts are resolved.
  struct Place {
    std::int32_t buffer = -1;
    std::int64_t offset = 0;  // bytes
  };
  struct PendingStep {
    std::shared_ptr<const PreparedOp> op;
    std::vector<std::int32_t> src, dst;  // values; -1: absent or packed
    StepRecord record;
  };
  // Name and origins of a step.
  struct Label {
    std::string name;
    std::vector<OriginId> origins;
  };
  struct Choice {
    std::shared_ptr<const PreparedOp> op;
    const Kernel* kernel = nullptr;
    bool is_ref = false;
  };

  // plan_compiler.cpp
  void defineInputs();
  void findLastUses();
  void emitInt(const PlanNode& node);
  void emitTensor(const PlanNode& node);
  OpSpec resolve(const PlanNode& node) const;
  void emitView(const OpSpec& op, std::int32_t src, std::int32_t dst, const TensorDesc& dims, const Label& label);
  void emitCompute(OpSpec op, std::vector<std::int32_t> src, const std::vector<std::int32_t>& dst,
                   const std::vector<TensorDesc>& dims, const Label& label);
  PrepareArgs prepareArgs(const OpSpec& op, const std::vector<std::int32_t>& src,
                          const std::vector<TensorDesc>& dims) const;
  Choice choose(const PrepareArgs& args, bool ref_allowed);
  bool emitMeasured(const StepChoice& measured, const OpSpec& op, const std::vector<std::int32_t>& src,
                    const std::vector<std::int32_t>& dst, const std::vector<TensorDesc>& dims, const Label& label);
  void emitNodes();
  void place(const Choice& choice, const OpSpec& op, const std::vector<std::int32_t>& src,
             const std::vector<std::int32_t>& dst, const std::vector<bool>& dies, const Label& label);
  [[noreturn]] void fail(const Label& label, const std::string& why) const;

  // plan_fold.cpp
  bool mayKeep(std::size_t bytes) const;
  static bool isConstant(const Value& value) { return value.constant != nullptr || value.computed; }
  bool foldConstants(const OpSpec& op, const std::vector<std::int32_t>& src, const std::vector<std::int32_t>& dst,
                     const std::vector<TensorDesc>& dims, const Label& label);
  bool mayFold(const std::vector<std::int32_t>& src, const std::vector<TensorDesc>& dims) const;
  const void* keep(AlignedBuffer buffer);
  void joinGroups(std::int32_t value, std::int32_t with);

  // plan_trace.cpp
  void traceStep(const OpSpec& op, const std::vector<std::int32_t>& src, const std::vector<std::int32_t>& dst,
                 const std::vector<TensorDesc>& dims);

  // plan_split.cpp
  void emitSplit(const OpSpec& op, std::size_t kept, const std::vector<std::int32_t>& src,
                 const std::vector<std::int32_t>& dst, const Label& label);
  bool emitApart(const OpSpec& op, const std::vector<std::int32_t>& src, const std::vector<std::int32_t>& dst,
                 const Label& label);
  bool emitSumApart(OpSpec norm, const std::vector<std::int32_t>& src, const std::vector<std::int32_t>& dst,
                    const Label& label);
  bool emitMaskApart(OpSpec softmax, const std::vector<std::int32_t>& src, const std::vector<std::int32_t>& dst,
                     const Label& label);
  void emitBefore(const OpSpec& first, const std::vector<std::int32_t>& first_src, std::int32_t middle,
                  const OpSpec& second, const std::vector<std::int32_t>& second_src,
                  const std::vector<std::int32_t>& dst, const Label& label);
  bool infer(const OpSpec& op, const std::vector<std::int32_t>& src, std::vector<TensorDesc>* dims) const;

  // plan_layout.cpp
  bool staysWithWeights(std::int32_t value, const TensorDesc& wanted) const;
  bool isConvertedOnce(std::int32_t value, const TensorDesc& wanted) const;
  std::int32_t inLayout(std::int32_t value, const TensorDesc& wanted, const Label& label);
  std::int32_t reorderConstant(std::int32_t value, const TensorDesc& wanted, const Label& label);
  std::int32_t reorderStep(std::int32_t value, const TensorDesc& wanted, const Label& label);
  std::int32_t sameMemoryView(std::int32_t value, const TensorDesc& wanted);
  std::int32_t newValue(const TensorDesc& desc, std::int32_t group);
  std::int32_t newBuffer(std::size_t bytes);

  // plan_pointwise_depthwise.cpp
  bool emitJoined(const PlanNode& node);

  // plan_concat.cpp
  Place placeOf(const Value& value) const;
  bool fillsItsBuffer(const Value& value) const;
  std::int32_t knownInLayout(std::int32_t value, const TensorDesc& wanted) const;
  std::size_t endOfRun(const std::vector<std::int32_t>& ready, const std::vector<ConcatSlice>& slices,
                       std::size_t first) const;
  void makePart(std::int32_t part, std::int32_t whole, std::int64_t offset);
  bool placeInSlices(const PreparedOp& concat, const OpSpec& op, const std::vector<std::int32_t>& src, std::int32_t dst,
                     const Label& label);

  // plan_finish.cpp
  void bindOutputs();
  void planArena();
  void moveConstants() const;
  void makeSlots();
  Plan::Slot slotOf(std::int32_t value) const;

  const PlanSpec& spec_;
  const PlanRequest& request_;
  const KernelList& kernels_;
  WeightCache& weights_;
  const std::int32_t spec_values_;  // values of the spec; further ones are made here

  std::vector<Value> values_;
  std::vector<Buffer> buffers_;
  std::vector<std::int64_t> buffer_offsets_;  // arena offsets, per buffer
  std::vector<PendingStep> steps_;
  std::vector<std::int32_t> last_use_;    // per group: last node that reads it
  std::vector<DispatchRecord> declined_;  // of the step being chosen
  std::int32_t node_ = 0;
  std::vector<std::int32_t> joinable_;      // per node, once it is asked for: its reader (plan_pointwise_depthwise.h)
  std::set<std::int32_t> computed_before_;  // nodes that were joined with an earlier one
  const StepChoice* measured_ = nullptr;    // for the step that is emitted next
  StepChoice measured_head_;                // what measured_ points to while its node is split
  std::vector<TracedStep>* traced_ = nullptr;  // set: nothing is prepared
  bool folds_ = true;
  std::unique_ptr<Plan> plan_;
};

}  // namespace ipex_studio
