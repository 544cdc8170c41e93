// The decisions for one operation at a time: fold it, follow a measured choice, ask the kernel list, or split it.
#include "core/plan/plan_compiler.h"

#include <numeric>
#include <utility>

#include "core/op/layout_text.h"
#include "core/plan/earlier_choices.h"
#include "core/plan/plan_arena.h"
#include "core/plan/plan_concat.h"
#include "core/plan/plan_pointwise_depthwise.h"
#include "core/plan/plan_split.h"

namespace ipex_studio {
namespace {

// Restricts the choice for an operation to the operation with its first `kept` post-operations alone.
StepChoice headOf(const StepChoice& measured, const OpSpec& op, std::size_t kept) {
  std::vector<std::int32_t> positions(measured.src_layouts.size());
  std::iota(positions.begin(), positions.end(), 0);
  StepChoice head = measured;
  head.src_layouts.clear();
  for (const std::int32_t position : splitOp(op, kept, positions).head_src) {
    head.src_layouts.push_back(measured.src_layouts[static_cast<std::size_t>(position)]);
  }
  return head;
}

}  // namespace

PlanCompiler::PlanCompiler(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels,
                           WeightCache& weights)
    : spec_(spec),
      request_(request),
      values_(spec, request),
      chooser_(kernels, request.target, weights, request.earlier, kept_),
      steps_(values_),
      layouts_(values_, chooser_, steps_, kept_, weights),
      folding_(values_, chooser_, layouts_, kept_) {}

PlanParts PlanCompiler::compile() {
  if (request_.earlier != nullptr) request_.earlier->beginPlan();
  PlanParts parts;
  walkPlan(spec_, request_, values_, *this);
  bindOutputs(&parts);
  layOutPlan(values_, kept_, steps_, &parts);
  parts.inputs = request_.tensor_inputs;
  parts.copy_ns = steps_.copyNs();
  parts.computed_bytes = kept_.computedBytes();
  parts.kept = kept_.take();
  return parts;
}

std::int32_t PlanCompiler::rowMajor(std::int32_t value, const StepLabel& label) {
  const TensorDesc& desc = values_[value].desc;
  TensorDesc wanted = contiguousDesc(desc.dtype, desc.dims);
  if (chooser_.hasKernels(OpKind::kReorder, chooser_.device(desc.device))) wanted.device = desc.device;
  return layouts_.inLayout(value, wanted, label);
}

void PlanCompiler::compute(const SizedOp& op, const StepChoice* measured) {
  if (folding_.fold(op)) return;
  if (measured != nullptr && computeMeasured(op, *measured)) return;
  std::vector<DispatchRecord> declined;
  for (Device* device : chooser_.devices()) {
    if (computeOn(*device, op, &declined)) return;
  }
  refuseInputs(op.label,
               declined.empty() ? "no kernel knows this operation" : "no kernel takes it: " + declined.back().reason);
}

// Computes the operation on `device`. False, with the candidates' reasons in `declined`, where no kernel of the device
// takes it, not even without some of its post-operations. Post-operations that no kernel takes are split off into a
// step of their own, never sent to the reference; the operation keeps as many as some kernel takes.
bool PlanCompiler::computeOn(Device& device, const SizedOp& op, std::vector<DispatchRecord>* declined) {
  const bool splittable = !op.op.post_ops.empty() && op.op.kind != OpKind::kPointwise && op.dst.size() == 1;
  const PrepareArgs args = values_.argsOf(op.op, op.src, op.dims);
  KernelChoice choice = chooser_.choose(args, device, !splittable);
  declined->insert(declined->end(), choice.candidates.begin(), choice.candidates.end());
  if (choice) {
    choice.candidates = std::move(*declined);
    const bool plain_concat = op.op.kind == OpKind::kConcat && op.op.post_ops.empty();
    if (!plain_concat || !placeInSlices(*choice.op, op, values_, layouts_)) addStep(choice, op, args.src_dies);
    return true;
  }
  if (!splittable) return false;
  for (std::size_t kept = op.op.post_ops.size(); kept-- > 0;) {
    OpSpec shorter = op.op;
    shorter.post_ops.resize(kept);
    const bool surely_taken = kept == 0 && device.isHost();  // by the reference, if by no other
    if (surely_taken || chooser_.choose(values_.argsOf(shorter, op.src, op.dims), device, false)) {
      computeSplit(op, kept, nullptr, values_, *this);
      return true;
    }
  }
  return false;
}

// Follows a measured choice. False, with nothing computed, where it does not fit: it may come from a file, and layouts
// around may have changed.
bool PlanCompiler::computeMeasured(const SizedOp& op, const StepChoice& measured) {
  if (measured.kept < 0 || measured.src_layouts.size() != op.src.size()) return false;
  const auto kept = static_cast<std::size_t>(measured.kept);
  if (kept < op.op.post_ops.size()) {
    if (op.op.kind == OpKind::kPointwise || op.dst.size() != 1) return false;
    const StepChoice head = headOf(measured, op.op, kept);
    computeSplit(op, kept, &head, values_, *this);
    return true;
  }
  PrepareArgs args = values_.argsOf(op.op, op.src, op.dims);
  for (std::size_t s = 0; s < op.src.size(); ++s) {
    if (args.src[s].absent() || args.constant[s] != nullptr) continue;
    const auto wanted = descInLayout(measured.src_layouts[s], args.src[s].dtype, args.src[s].dims);
    if (wanted) args.src[s] = *wanted;
  }
  const std::vector<bool> dies = args.src_dies;
  KernelChoice choice = chooser_.chooseNamed(args, measured.kernel);
  if (!choice) return false;
  choice.candidates = measured.candidates;
  addStep(choice, op, dies);
  return true;
}

// True if this node was computed with an earlier one, or is computed with its reader now because a measured choice asks
// for that. A choice that does not fit is ignored: it may come from a file. The joint step stands in the place of the
// first node, since everything else that the second reads is constant.
bool PlanCompiler::computesJoined(const PlanNode& node) {
  if (computed_before_.count(values_.node()) != 0) return true;
  if (!request_.choices) return false;
  const auto found = request_.choices->find(values_.node());
  if (found == request_.choices->end() ||
      !computesBoth(chooser_.kernels(), request_.target.device->id().kind, found->second.kernel))
    return false;
  if (joinable_.empty()) joinable_ = joinableReaders(spec_);
  const std::int32_t reader = joinable_[static_cast<std::size_t>(values_.node())];
  if (reader < 0 || values_[node.src[0]].isConstant()) return false;
  const PlanNode& second = spec_.nodes[static_cast<std::size_t>(reader)];
  JoinedNodes both = joinNodes(node, second);
  SizedOp op{std::move(both.op), std::move(both.src), second.dst, {}, {std::move(both.name), std::move(both.origins)}};
  if (!values_.infer(op.op, op.src, &op.dims) || !computeMeasured(op, found->second)) return false;
  computed_before_.insert(reader);
  return true;
}

void PlanCompiler::addStep(const KernelChoice& choice, const SizedOp& op, const std::vector<bool>& dies) {
  const std::vector<std::int32_t> ready = layouts_.sourcesFor(*choice.op, op.src, op.label);
  steps_.append(choice, op, ready, dies);
}

// Makes each result row-major in memory of its own on the host. Where the value fills a buffer of the arena alone, that
// buffer becomes the caller's; otherwise the value is copied out.
void PlanCompiler::bindOutputs(PlanParts* parts) {
  const StepLabel label{"result", {}};
  for (std::size_t o = 0; o < spec_.outputs.size(); ++o) {
    const TensorDesc& desc = values_[spec_.outputs[o]].desc;
    const TensorDesc wanted = contiguousDesc(desc.dtype, desc.dims);
    std::int32_t value = layouts_.inLayout(spec_.outputs[o], wanted, label);
    if (!values_.fillsItsBuffer(value)) value = layouts_.reorderStep(value, wanted, label);
    PlanValues::Buffer& buffer = values_.buffer(values_.placeOf(value).buffer);
    buffer.home = SlotHome::kOutput;
    buffer.index = static_cast<std::int32_t>(o);
    parts->outputs.push_back(wanted);
  }
}

}  // namespace ipex_studio
