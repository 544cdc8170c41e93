// The decisions for one operation at a time: fold it, follow a measured choice, ask the kernel list, or split it.
#include "core/plan/plan_compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/op/layout_text.h"
#include "core/plan/earlier_choices.h"
#include "core/plan/finite_checks.h"
#include "core/plan/plan_arena.h"
#include "core/plan/plan_concat.h"
#include "core/plan/plan_pointwise_depthwise.h"
#include "core/plan/plan_split.h"
#include "core/plan/plan_trace.h"
#include "core/runtime/placement.h"

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

// True if post-operations of the operation may become a step of their own.
bool isSplittable(const SizedOp& op) {
  return !op.op.post_ops.empty() && op.op.kind != OpKind::kPointwise && op.dst.size() == 1;
}

// Expected time of a step on the host: rough, since it is compared with copies that it would need elsewhere.
double hostNs(const TracedStep& step, std::int32_t threads) {
  constexpr double kStep_ns = 1000, kBytesPerNs = 8, kFlopsPerNs = 20;
  double bytes = 0, flops = 0;
  for (const TensorDesc& desc : step.args.src) bytes += static_cast<double>(desc.absent() ? 0 : desc.bytes());
  for (const TensorDesc& desc : step.args.dst) bytes += static_cast<double>(desc.bytes());
  const double results = static_cast<double>(step.args.dst[0].dims.count());
  const auto elements = [&](std::size_t s) { return static_cast<double>(step.args.src[s].dims.count()); };
  const auto last = [&](std::size_t s, int from_end) {
    const Dims& dims = step.args.src[s].dims;
    return dims.rank < from_end ? 1.0 : static_cast<double>(dims[dims.rank - from_end]);
  };
  switch (step.op.kind) {
    case OpKind::kConvolution:
    case OpKind::kLinear:
      flops = 2 * results * elements(1) / static_cast<double>(std::max<std::int64_t>(1, step.args.src[1].dims[0]));
      break;
    case OpKind::kMatmul:
      flops = 2 * results * last(0, step.op.intOr("transpose_a", 0) != 0 ? 2 : 1);
      break;
    case OpKind::kAttention:
      flops = 4 * results * last(1, 2);
      break;
    default:
      flops = results * static_cast<double>(1 + step.op.post_ops.size());
  }
  return kStep_ns + std::max(bytes / kBytesPerNs, flops / kFlopsPerNs) / std::max(1, threads);
}

// The nodes of a spec as steps between which copies may be, for one device beside the host.
class CopyCount {
 public:
  CopyCount(const PlanSpec& spec, const PlanRequest& request, const KernelChooser& chooser)
      : device_(*request.target.device) {
    for (const TracedStep& step : tracePlan(spec, request)) addStep(step, chooser, request.target.threads);
    for (const std::int32_t output : spec.outputs) {
      if (device_.properties().reaches_host_memory) continue;  // it writes results where the host wants them
      const auto value = values_.find(output);
      if (value != values_.end()) problem_.values[value->second].readers.push_back(-1);
    }
  }

  // The nodes that the host should compute although the device has kernels for them, each with the reason.
  std::map<std::int32_t, std::string> moved() const {
    const std::vector<bool> on_host = placeOnHost(problem_);
    std::map<std::int32_t, std::string> moved;
    for (const auto& [node, index] : nodes_) {
      const PlacementProblem::Step& step = problem_.steps[index];
      if (!on_host[index] || !step.on_device || step.host_ns == 0) continue;
      moved[node] = fmt::format("copies to and from the device would take {:.0f} us, the host needs about {:.0f}",
                                1e-3 * copiesAround(static_cast<std::int32_t>(index), on_host), 1e-3 * step.host_ns);
    }
    return moved;
  }

 private:
  // Views have no kernels and lie where their source is.
  void addStep(const TracedStep& step, const KernelChooser& chooser, std::int32_t threads) {
    const auto [node, is_new] = nodes_.emplace(step.node, problem_.steps.size());
    if (is_new) problem_.steps.emplace_back();
    PlacementProblem::Step& made = problem_.steps[node->second];
    const auto index = static_cast<std::int32_t>(node->second);
    if (!isView(step.op.kind)) {
      made.on_device = made.on_device && chooser.mayTake(step.args, device_);
      made.host_ns += hostNs(step, threads);
    }
    for (std::size_t s = 0; s < step.src.size(); ++s) {
      if (step.src[s] < 0 || (s < step.args.constant.size() && step.args.constant[s] != nullptr)) continue;
      const auto value = values_.emplace(step.src[s], problem_.values.size());
      const bool is_reached = device_.properties().reaches_host_memory;
      if (value.second) problem_.values.push_back({-1, {}, is_reached ? 0 : device_.copyNs(step.args.src[s].bytes())});
      std::vector<std::int32_t>& readers = problem_.values[value.first->second].readers;
      const bool within = problem_.values[value.first->second].maker == index;
      if (!within && std::find(readers.begin(), readers.end(), index) == readers.end()) readers.push_back(index);
    }
    for (std::size_t d = 0; d < step.dst.size(); ++d) {
      values_[step.dst[d]] = problem_.values.size();
      problem_.values.push_back({index, {}, device_.copyNs(step.args.dst[d].bytes())});
    }
  }

  // Time of the copies if the step alone were on the device.
  double copiesAround(std::int32_t index, const std::vector<bool>& on_host) const {
    const auto isOnHost = [&](std::int32_t step) { return step < 0 || on_host[static_cast<std::size_t>(step)]; };
    double copies = 0;
    for (const PlacementProblem::Value& value : problem_.values) {
      const auto& readers = value.readers;
      const bool reads = std::find(readers.begin(), readers.end(), index) != readers.end();
      const bool is_wanted = std::any_of(readers.begin(), readers.end(), isOnHost);
      if ((reads && isOnHost(value.maker)) || (value.maker == index && is_wanted)) copies += value.copy_ns;
    }
    return copies;
  }

  Device& device_;
  PlacementProblem problem_;
  std::map<std::int32_t, std::size_t> nodes_;   // steps of the problem by node of the spec
  std::map<std::int32_t, std::size_t> values_;  // values of the problem by value of the spec
};

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
  if (!request_.target.device->isHost()) moved_ = CopyCount(spec_, request_, chooser_).moved();
  walkPlan(spec_, request_, values_, *this);
  bindOutputs(&parts);
  if (request_.any_above != nullptr) {
    parts.finite = findFiniteChecks(request_.tensor_inputs, values_, steps_.all());
    parts.finite.any_above = request_.any_above;
  }
  layOutPlan(values_, kept_, steps_, &parts);
  for (const FiniteCheck& check : parts.finite.results)
    parts.steps[static_cast<std::size_t>(check.index)].is_checked = true;
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
  const auto moved = moved_.find(values_.node());
  for (Device* device : chooser_.devices()) {
    if (moved != moved_.end() && !device->isHost()) {
      DispatchRecord copies;
      copies.kernel = device->label();
      copies.reason = moved->second;
      declined.push_back(std::move(copies));
      continue;
    }
    if (computeOn(*device, op, &declined)) return;
  }
  refuseInputs(op.label,
               declined.empty() ? "no kernel knows this operation" : "no kernel takes it: " + declined.back().reason);
}

// Computes the operation on `device`. False, with the candidates' reasons in `declined`, where no kernel of the device
// takes it, not even without some of its post-operations. Post-operations that no kernel takes are split off into a
// step of their own, never sent to the reference; the operation keeps as many as some kernel takes.
bool PlanCompiler::computeOn(Device& device, const SizedOp& op, std::vector<DispatchRecord>* declined) {
  const bool splittable = isSplittable(op);
  const PrepareArgs args = values_.argsOf(op.op, op.src, op.dims);
  KernelChoice choice = chooser_.choose(args, device, !splittable);
  declined->insert(declined->end(), choice.candidates.begin(), choice.candidates.end());
  if (choice && splittable && clampsDearly(op, *choice.op)) {
    for (std::size_t kept = op.op.post_ops.size(); kept-- > 0;) {
      OpSpec shorter = op.op;
      shorter.post_ops.resize(kept);
      const KernelChoice head = chooser_.choose(values_.argsOf(shorter, op.src, op.dims), device, false);
      if (!head || head.op->needs_finite) continue;
      computeSplit(op, kept, nullptr, values_, *this);
      return true;
    }
  }
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

bool PlanCompiler::clampsDearly(const SizedOp& op, const PreparedOp& prepared) const {
  if (request_.any_above == nullptr || !prepared.needs_finite || op.src[0] < 0 || values_[op.src[0]].isConstant())
    return false;
  const PlanValues::Buffer& source = values_.buffer(values_.placeOf(op.src[0]).buffer);
  // A clamp of its own reads and writes the result, which is looked at then.
  constexpr std::size_t kPasses = 3;
  return source.home == SlotHome::kInput && source.bytes > kPasses * prepared.dst[0].bytes();
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
  if (isSplittable(op) && clampsDearly(op, *choice.op)) {
    PrepareArgs shorter = args;
    for (std::size_t fewer = kept; fewer-- > 0;) {
      shorter.spec.post_ops.resize(fewer);
      const KernelChoice head = chooser_.chooseNamed(shorter, measured.kernel);
      if (!head || head.op->needs_finite) continue;
      const StepChoice measured_head = headOf(measured, op.op, fewer);
      computeSplit(op, fewer, &measured_head, values_, *this);
      return true;
    }
  }
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
// buffer becomes the caller's, which a device writes if it can; otherwise the value is copied out.
void PlanCompiler::bindOutputs(PlanParts* parts) {
  const StepLabel label{"result", {}};
  for (std::size_t o = 0; o < spec_.outputs.size(); ++o) {
    const TensorDesc desc = values_[spec_.outputs[o]].desc;
    const TensorDesc result = contiguousDesc(desc.dtype, desc.dims);
    TensorDesc wanted = result;
    if (chooser_.device(desc.device).properties().reaches_host_memory) wanted.device = desc.device;
    std::int32_t value = layouts_.inLayout(spec_.outputs[o], wanted, label);
    if (!values_.fillsItsBuffer(value)) value = layouts_.reorderStep(value, wanted, label);
    PlanValues::Buffer& buffer = values_.buffer(values_.placeOf(value).buffer);
    buffer.home = SlotHome::kOutput;
    buffer.index = static_cast<std::int32_t>(o);
    parts->outputs.push_back(result);
  }
}

}  // namespace ipex_studio
