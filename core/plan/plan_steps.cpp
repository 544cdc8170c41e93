// Appends steps and device copies, and fills their records.
#include "core/plan/plan_steps.h"

#include <fmt/format.h>

#include <utility>

#include "core/op/device_copy.h"
#include "core/op/low_precision_floats.h"

namespace ipex_studio {
namespace {

const char* floatPrecision(DType dtype) {
  return dtype == DType::kF32 ? "fp32" : dtype == DType::kF16 ? "fp16" : dtypeName(dtype);
}

// True if the weights are read as integers, whatever the values beside them are: with scales that are found while
// running, or of packed levels.
bool readsIntegerWeights(const OpSpec& spec) {
  return spec.intOr("dynamic", 0) != 0 || spec.intOr("bits", 0) != 0 || spec.intOr("scaled_rows", 0) != 0;
}

// Precision to report: int8 if the step reads or writes integers (attention excepted).
const char* precisionOf(const OpSpec& spec, const PreparedOp& op) {
  if (spec.kind == OpKind::kAttention) {
    const bool in_bf16 = spec.stringOr("products", "") == "bf16" || op.src[0].dtype == DType::kBf16;
    return in_bf16 ? "bf16" : "fp32";
  }
  const auto holdsIntegers = [](DType dtype) { return dtype == DType::kU8 || dtype == DType::kS8; };
  const DType result = op.dst[0].dtype;
  const bool weight_only = spec.kind == OpKind::kLinear && op.src.size() > 1 && op.src[1].dtype == DType::kS8;
  if (weight_only || readsIntegerWeights(spec) || holdsIntegers(result) ||
      (!op.src.empty() && holdsIntegers(op.src[0].dtype)))
    return "int8";
  // Products of low-precision floats count as such even if they write FP32 sums.
  const bool converts = spec.kind == OpKind::kCast || spec.kind == OpKind::kReorder;
  const bool reads_low_precision = !op.src.empty() && isLowPrecisionFloat(op.src[0].dtype);
  return floatPrecision(!converts && reads_low_precision ? op.src[0].dtype : result);
}

StepRecord recordOf(const KernelChoice& choice, const SizedOp& op) {
  const PreparedOp& prepared = *choice.op;
  StepRecord record;
  record.name = op.label.name;
  record.origins = op.label.origins;
  record.kind = opKindName(op.op.kind);
  record.spec = op.op.text();
  record.kernel = choice.kernel;
  record.implementation = prepared.implementation;
  record.device = choice.device->label();
  record.src_layout = prepared.src.empty() ? "" : prepared.src[0].layoutName();
  record.dst_layout = prepared.dst[0].layoutName();
  record.dst_shape = prepared.dst[0].dims.str();
  record.precision = precisionOf(op.op, prepared);
  record.flops = prepared.flops;
  for (const TensorDesc& desc : prepared.src) record.bytes += static_cast<std::int64_t>(desc.bytes());
  for (const TensorDesc& desc : prepared.dst) record.bytes += static_cast<std::int64_t>(desc.bytes());
  return record;
}

}  // namespace

void PlanSteps::append(const KernelChoice& choice, const SizedOp& op, const std::vector<std::int32_t>& ready,
                       const std::vector<bool>& dies) {
  const PreparedOp& prepared = *choice.op;
  std::int32_t shared = prepared.in_place_src;
  for (std::size_t s = 0; shared < 0 && prepared.may_alias && s < ready.size(); ++s) {
    const bool reusable = dies[s] && ready[s] == op.src[s] && prepared.fitsInto(s);
    if (reusable) shared = static_cast<std::int32_t>(s);
  }
  for (std::size_t d = 0; d < op.dst.size(); ++d) {
    if (d == 0 && shared >= 0) {
      PlanValues::Value& value = values_[op.dst[d]];
      value.desc = prepared.dst[d];
      value.offset = 0;
      value.buffer = values_[ready[static_cast<std::size_t>(shared)]].buffer;
    } else {
      values_.allocate(op.dst[d], prepared.dst[d]);
    }
  }
  Step step{choice.op, choice.device, ready, op.dst, op.op, recordOf(choice, op)};
  step.record.index = static_cast<std::int32_t>(steps_.size());
  for (DispatchRecord dispatch : choice.candidates) {
    dispatch.step = step.record.index;
    dispatches_.push_back(std::move(dispatch));
  }
  steps_.push_back(std::move(step));
}

std::int32_t PlanSteps::appendCopy(std::int32_t value, const DeviceId& to, Device& other, const StepLabel& label) {
  KernelChoice choice;
  choice.op = makeDeviceCopy(values_[value].desc, to, other);
  choice.kernel = kDeviceCopyName;
  choice.device = &other;
  const TensorDesc copied = choice.op->dst[0];
  const std::int32_t made = values_.newValue(copied, values_[value].group);
  SizedOp copy{
      {}, {value}, {made}, {copied}, {fmt::format("{}: {}", choice.op->implementation, label.name), label.origins}};
  copy.op.kind = OpKind::kReorder;
  append(choice, copy, {value}, {false});
  copy_ns_ += other.copyNs(copied.bytes());
  return made;
}

}  // namespace ipex_studio
