#include "core/plan/plan_compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/error.h"
#include "core/op/layout_text.h"
#include "core/op/low_precision_floats.h"
#include "core/op/prepare.h"
#include "core/op/shape_inference.h"
#include "core/plan/plan_split.h"

namespace ipex_studio {
namespace {

// Models pad up to a multiple, which often adds nothing.
bool padsNothing(const OpSpec& op) {
  if (op.kind != OpKind::kPad) return false;
  for (const char* side : {"begin", "end"}) {
    for (const std::int64_t size : op.ints(side)) {
      if (size != 0) return false;
    }
  }
  return true;
}

OpSpec identityView() {
  OpSpec op;
  op.kind = OpKind::kSqueeze;
  op.attributes["axes"] = std::vector<std::int64_t>{};
  return op;
}

}  // namespace

std::unique_ptr<Plan> PlanCompiler::compile() {
  plan_ = std::make_unique<Plan>();
  emitNodes();
  bindOutputs();
  planArena();
  moveConstants();
  makeSlots();
  return std::move(plan_);
}

void PlanCompiler::emitNodes() {
  defineInputs();
  findLastUses();
  for (node_ = 0; node_ < static_cast<std::int32_t>(spec_.nodes.size()); ++node_) {
    const PlanNode& node = spec_.nodes[node_];
    if (node.is_int) {
      emitInt(node);
    } else {
      emitTensor(node);
    }
  }
}

void PlanCompiler::fail(const Label& label, const std::string& why) const {
  throw Error(ExitCode::kFailure,
              fmt::format("The optimized model cannot take these inputs: '{}': {}; use the sizes it was "
                          "optimized for, or optimize it again with these.",
                          label.name, why));
}

void PlanCompiler::defineInputs() {
  values_.resize(static_cast<std::size_t>(spec_values_));
  for (std::size_t v = 0; v < values_.size(); ++v) values_[v].group = static_cast<std::int32_t>(v);
  for (std::size_t i = 0; i < spec_.inputs.size(); ++i) {
    const PlanSpec::Input& input = spec_.inputs[i];
    Value& value = values_[i];
    if (input.is_int) {
      value.is_int = true;
      value.integer = request_.int_inputs[i];
      continue;
    }
    value.desc = request_.tensor_inputs[i];
    if (value.desc.dtype != input.dtype || value.desc.dims.rank != input.rank) {
      throw Error(
          ExitCode::kFailure,
          fmt::format("The optimized model was built for a {}-dimensional {} tensor where it now gets {}; optimize "
                      "it again with such an input.",
                      input.rank, dtypeName(input.dtype), value.desc.str()));
    }
    value.buffer = static_cast<std::int32_t>(buffers_.size());
    buffers_.push_back({Plan::Home::kInput, static_cast<std::int32_t>(i), value.desc.bytes()});
  }
  for (std::size_t c = 0; c < spec_.constants.size(); ++c) {
    Value& value = values_[static_cast<std::size_t>(spec_.constantValue(c))];
    value.desc = spec_.constants[c];
    value.constant = request_.constants[c];
  }
}

void PlanCompiler::findLastUses() {
  last_use_.assign(values_.size(), -1);
  for (std::size_t n = 0; n < spec_.nodes.size(); ++n) {
    const PlanNode& node = spec_.nodes[n];
    if (node.is_int) continue;
    if (isView(node.op.kind) && !node.src.empty() && node.src[0] >= 0)
      values_[node.dst[0]].group = values_[node.src[0]].group;
    for (std::int32_t src : node.src) {
      if (src >= 0) last_use_[values_[src].group] = static_cast<std::int32_t>(n);
    }
  }
  for (std::int32_t output : spec_.outputs) last_use_[values_[output].group] = std::numeric_limits<std::int32_t>::max();
}

void PlanCompiler::emitTensor(const PlanNode& node) {
  if (computed_before_.count(node_) != 0 || emitJoined(node)) return;
  const Label label{node.name, node.origins};
  const OpSpec op = resolve(node);
  std::vector<TensorDesc> src;
  for (std::int32_t value : node.src) src.push_back(value < 0 ? TensorDesc() : values_[value].desc);
  std::vector<TensorDesc> dims;
  const Verdict fits = inferShapes(op, src, &dims);
  if (!fits.ok && emitApart(op, node.src, node.dst, label)) return;
  if (!fits.ok) fail(label, fits.reason);
  if (dims.size() != node.dst.size()) fail(label, "the number of results is wrong");
  if (isView(op.kind)) {
    emitView(op, node.src[0], node.dst[0], dims[0], label);
    return;
  }
  if (padsNothing(op)) {
    joinGroups(node.dst[0], node.src[0]);
    emitView(identityView(), node.src[0], node.dst[0], dims[0], label);
    return;
  }
  if (request_.choices) {
    const auto found = request_.choices->find(node_);
    if (found != request_.choices->end()) measured_ = &found->second;
  }
  emitCompute(op, node.src, node.dst, dims, label);
}

void PlanCompiler::emitView(const OpSpec& op, std::int32_t src, std::int32_t dst, const TensorDesc& dims,
                            const Label& label) {
  TensorDesc view;
  std::int64_t offset = 0;
  std::int32_t from = src;
  if (traced_ != nullptr) {
    const TensorDesc plain = contiguousDesc(values_[src].desc.dtype, values_[src].desc.dims);
    PrepareArgs args;
    args.src = {values_[src].desc};
    args.dst = {dims};
    traced_->push_back({node_, op, {src}, {dst}, std::move(args), true});
    if (!viewOf(op, values_[src].desc, dims, &view, &offset)) {
      IPEX_CHECK(viewOf(op, plain, dims, &view, &offset), "a dense row-major tensor can always be viewed");
      from = newValue(plain, values_[src].group);  // the copy that will be made
      values_[from].computed = isConstant(values_[src]);
      if (!values_[from].computed) {
        const std::int32_t buffer = newBuffer(plain.bytes());
        values_[from].buffer = buffer;
      }
    }
  } else if (!viewOf(op, values_[from].desc, dims, &view, &offset)) {
    from = inLayout(src, contiguousDesc(values_[src].desc.dtype, values_[src].desc.dims), label);
    IPEX_CHECK(viewOf(op, values_[from].desc, dims, &view, &offset), "a dense row-major tensor can always be viewed");
  }
  const std::int64_t offset_bytes = offset * static_cast<std::int64_t>(elementBytes(view.dtype));
  const Value source = values_[from];
  Value& value = values_[dst];
  value.desc = view;
  value.buffer = source.buffer;
  value.offset = source.offset + offset_bytes;
  value.computed = source.computed;
  if (source.constant != nullptr) value.constant = static_cast<const char*>(source.constant) + offset_bytes;
}

PrepareArgs PlanCompiler::prepareArgs(const OpSpec& op, const std::vector<std::int32_t>& src,
                                      const std::vector<TensorDesc>& dims) const {
  PrepareArgs args;
  args.spec = op;
  args.dst = dims;
  args.target = request_.target;
  args.weights = &weights_;
  std::vector<std::int32_t> read;  // buffers of all operands, sorted
  for (std::int32_t index : src) {
    if (index >= 0) read.push_back(placeOf(values_[index]).buffer);
  }
  std::sort(read.begin(), read.end());
  for (std::int32_t index : src) {
    const Value* value = index < 0 ? nullptr : &values_[index];
    args.src.push_back(value ? value->desc : TensorDesc());
    // Packed weights outlive the plan, so they are never made from values that it computed itself.
    args.constant.push_back(value && !value->computed ? value->constant : nullptr);
    bool dies = false;
    if (value != nullptr && last_use_[value->group] <= node_ && fillsItsBuffer(*value)) {
      const std::int32_t buffer = placeOf(*value).buffer;
      const auto readers = std::equal_range(read.begin(), read.end(), buffer);
      dies = buffers_[buffer].needed_until <= node_ && readers.second - readers.first == 1;
    }
    args.src_dies.push_back(dies);
  }
  return args;
}

PlanCompiler::Choice PlanCompiler::choose(const PrepareArgs& args, bool ref_allowed) {
  declined_.clear();
  for (const Kernel* kernel : kernels_.candidates(args.spec.kind, args.target.device.kind)) {
    DispatchRecord dispatch;
    dispatch.kernel = kernel->name();
    const bool is_ref = isReference(dispatch.kernel);
    if ((is_ref && !ref_allowed) || kernel->onlyWhenMeasured()) continue;
    std::shared_ptr<const PreparedOp> op = prepareBy(*kernel, args, &dispatch.reason);
    if (op) {
      dispatch.chosen = true;
      dispatch.reason = "chosen";
      dispatch.layout = op->dst.empty() ? "" : op->dst[0].layoutName();
      declined_.push_back(dispatch);
      return {std::move(op), kernel, is_ref};
    }
    declined_.push_back(dispatch);
  }
  return {};
}

void PlanCompiler::emitCompute(OpSpec op, std::vector<std::int32_t> src, const std::vector<std::int32_t>& dst,
                               const std::vector<TensorDesc>& dims, const Label& label) {
  const StepChoice* measured = std::exchange(measured_, nullptr);
  if (foldConstants(op, src, dst, dims, label)) return;
  if (traced_ != nullptr) return traceStep(op, src, dst, dims);
  if (measured != nullptr && emitMeasured(*measured, op, src, dst, dims, label)) return;
  // A post-op that no kernel takes is split off into a step of its own, never sent to ref.
  const bool splittable = !op.post_ops.empty() && op.kind != OpKind::kPointwise && dst.size() == 1;
  const PrepareArgs args = prepareArgs(op, src, dims);
  const Choice choice = choose(args, !splittable);
  if (choice.op) {
    if (op.kind == OpKind::kConcat && op.post_ops.empty() && placeInSlices(*choice.op, op, src, dst[0], label)) return;
    place(choice, op, src, dst, args.src_dies, label);
    return;
  }
  if (!splittable) {
    fail(label,
         declined_.empty() ? "no kernel knows this operation" : "no kernel takes it: " + declined_.back().reason);
  }
  for (std::size_t kept = op.post_ops.size() - 1;; --kept) {
    OpSpec shorter = op;
    shorter.post_ops.resize(kept);
    if (kept == 0 || choose(prepareArgs(shorter, src, dims), false).op) {
      emitSplit(op, kept, src, dst, label);
      return;
    }
  }
}

// False, and nothing emitted, when the choice does not fit: it may come from a file, and layouts around may have changed.
bool PlanCompiler::emitMeasured(const StepChoice& measured, const OpSpec& op, const std::vector<std::int32_t>& src,
                                const std::vector<std::int32_t>& dst, const std::vector<TensorDesc>& dims,
                                const Label& label) {
  if (measured.kept < 0 || measured.src_layouts.size() != src.size()) return false;
  const auto kept = static_cast<std::size_t>(measured.kept);
  if (kept < op.post_ops.size()) {
    if (op.kind == OpKind::kPointwise || dst.size() != 1) return false;
    std::vector<std::int32_t> positions(src.size());
    std::iota(positions.begin(), positions.end(), 0);
    measured_head_ = measured;
    measured_head_.src_layouts.clear();
    for (std::int32_t position : splitOp(op, kept, positions).head_src) {
      measured_head_.src_layouts.push_back(measured.src_layouts[static_cast<std::size_t>(position)]);
    }
    measured_ = &measured_head_;
    emitSplit(op, kept, src, dst, label);
    return true;
  }
  PrepareArgs args = prepareArgs(op, src, dims);
  for (std::size_t s = 0; s < src.size(); ++s) {
    if (args.src[s].absent() || args.constant[s] != nullptr) continue;
    const auto wanted = descInLayout(measured.src_layouts[s], args.src[s].dtype, args.src[s].dims);
    if (wanted) args.src[s] = *wanted;
  }
  for (const Kernel* kernel : kernels_.candidates(op.kind, args.target.device.kind)) {
    if (measured.kernel != kernel->name()) continue;
    std::string reason;
    std::shared_ptr<const PreparedOp> prepared = prepareBy(*kernel, args, &reason);
    if (!prepared) continue;
    declined_ = measured.candidates;
    place({std::move(prepared), kernel, false}, op, src, dst, args.src_dies, label);
    return true;
  }
  return false;
}

namespace {

const char* floatPrecision(DType dtype) {
  return dtype == DType::kF32 ? "fp32" : dtype == DType::kF16 ? "fp16" : dtypeName(dtype);
}

// Precision to report: int8 if the step reads or writes integers (attention excepted).
const char* precisionOf(const OpSpec& spec, const PreparedOp& op) {
  if (spec.kind == OpKind::kAttention) {
    const bool narrow = spec.stringOr("products", "") == "bf16" || op.src[0].dtype == DType::kBf16;
    return narrow ? "bf16" : "fp32";
  }
  const auto holdsIntegers = [](DType dtype) { return dtype == DType::kU8 || dtype == DType::kS8; };
  const DType result = op.dst[0].dtype;
  if (holdsIntegers(result) || (!op.src.empty() && holdsIntegers(op.src[0].dtype))) return "int8";
  // Products of low-precision floats count as such even if they write FP32 sums.
  const bool converts = spec.kind == OpKind::kCast || spec.kind == OpKind::kReorder;
  const bool narrow_source = !op.src.empty() && isLowPrecisionFloat(op.src[0].dtype);
  return floatPrecision(!converts && narrow_source ? op.src[0].dtype : result);
}

}  // namespace

void PlanCompiler::place(const Choice& choice, const OpSpec& op, const std::vector<std::int32_t>& src,
                         const std::vector<std::int32_t>& dst, const std::vector<bool>& dies, const Label& label) {
  const std::vector<DispatchRecord> dispatches = std::move(declined_);
  const PreparedOp& prepared = *choice.op;
  PendingStep step;
  step.op = choice.op;
  for (std::size_t s = 0; s < src.size(); ++s) {
    const bool unread = src[s] < 0 || (s < prepared.packed.size() && prepared.packed[s]);
    step.src.push_back(unread ? -1 : inLayout(src[s], prepared.src[s], label));
    // A copy that an earlier step made may lie where it must not be overwritten.
    const bool overwritten = static_cast<std::int32_t>(s) == prepared.in_place_src;
    if (overwritten && buffers_[placeOf(values_[step.src[s]]).buffer].needed_until > node_) {
      step.src[s] = reorderStep(src[s], prepared.src[s], label);
    }
  }
  std::int32_t shared = prepared.in_place_src;
  for (std::size_t s = 0; shared < 0 && prepared.may_alias && s < src.size(); ++s) {
    const bool reusable = dies[s] && step.src[s] == src[s] && prepared.fitsInto(s);
    if (reusable) shared = static_cast<std::int32_t>(s);
  }
  for (std::size_t d = 0; d < dst.size(); ++d) {
    Value& value = values_[dst[d]];
    value.desc = prepared.dst[d];
    value.offset = 0;
    if (d == 0 && shared >= 0) {
      value.buffer = values_[step.src[static_cast<std::size_t>(shared)]].buffer;
    } else {
      const std::int32_t buffer = newBuffer(prepared.dst[d].bytes());
      values_[dst[d]].buffer = buffer;
    }
  }
  step.dst = dst;
  StepRecord& record = step.record;
  record.index = static_cast<std::int32_t>(steps_.size());
  record.name = label.name;
  record.origins = label.origins;
  record.kind = opKindName(op.kind);
  record.spec = op.text();
  record.kernel = choice.kernel->name();
  record.implementation = prepared.implementation;
  record.src_layout = prepared.src.empty() ? "" : prepared.src[0].layoutName();
  record.dst_layout = prepared.dst[0].layoutName();
  record.dst_shape = prepared.dst[0].dims.str();
  record.precision = precisionOf(op, prepared);
  record.flops = prepared.flops;
  for (const TensorDesc& desc : prepared.src) record.bytes += static_cast<std::int64_t>(desc.bytes());
  for (const TensorDesc& desc : prepared.dst) record.bytes += static_cast<std::int64_t>(desc.bytes());
  for (DispatchRecord dispatch : dispatches) {
    dispatch.step = record.index;
    plan_->dispatch_records_.push_back(std::move(dispatch));
  }
  steps_.push_back(std::move(step));
}

}  // namespace ipex_studio
