// Values, buffers and lifetimes of a plan that is being compiled, and its size arithmetic.
#include "core/plan/plan_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/error.h"
#include "core/op/layout_text.h"
#include "core/op/shape_inference.h"

namespace ipex_studio {
namespace {

// Integer arithmetic with Python's floor division and modulus; false on a zero divisor or overflow.
bool evaluate(IntOp op, std::int64_t a, std::int64_t b, std::int64_t* out) {
  switch (op) {
    case IntOp::kAdd:
      return !__builtin_add_overflow(a, b, out);
    case IntOp::kSub:
      return !__builtin_sub_overflow(a, b, out);
    case IntOp::kMul:
      return !__builtin_mul_overflow(a, b, out);
    case IntOp::kNeg:
      return !__builtin_sub_overflow(std::int64_t{0}, a, out);
    case IntOp::kMax:
    case IntOp::kMin:
      *out = op == IntOp::kMax ? std::max(a, b) : std::min(a, b);
      return true;
    case IntOp::kFloorDiv:
    case IntOp::kMod: {
      if (b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min())) return false;
      const std::int64_t remainder = a % b;
      const bool adjust = remainder != 0 && (remainder < 0) != (b < 0);
      *out = op == IntOp::kMod ? remainder + (adjust ? b : 0) : a / b - (adjust ? 1 : 0);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace

PlanValues::PlanValues(const PlanSpec& spec, const PlanRequest& request) : spec_values_(spec.valueCount()) {
  values_.resize(static_cast<std::size_t>(spec_values_));
  for (std::size_t v = 0; v < values_.size(); ++v) values_[v].group = static_cast<std::int32_t>(v);
  defineInputs(spec, request);
  findLastUses(spec);
}

void PlanValues::defineInputs(const PlanSpec& spec, const PlanRequest& request) {
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    const PlanSpec::Input& input = spec.inputs[i];
    Value& value = values_[i];
    if (input.is_int) {
      value.is_int = true;
      value.integer = request.int_inputs[i];
      continue;
    }
    value.desc = request.tensor_inputs[i];
    if (value.desc.dtype != input.dtype || value.desc.dims.rank != input.rank) {
      throw Error(
          ExitCode::kFailure,
          fmt::format("The optimized model was built for a {}-dimensional {} tensor where it now gets {}; optimize "
                      "it again with such an input.",
                      input.rank, dtypeName(input.dtype), value.desc.str()));
    }
    value.buffer = static_cast<std::int32_t>(buffers_.size());
    buffers_.push_back({SlotHome::kInput, static_cast<std::int32_t>(i), value.desc.bytes(), value.desc.device});
  }
  for (std::size_t c = 0; c < spec.constants.size(); ++c) {
    Value& value = (*this)[spec.constantValue(c)];
    value.desc = spec.constants[c];
    value.constant = request.constants[c];
  }
}

void PlanValues::findLastUses(const PlanSpec& spec) {
  last_use_.assign(values_.size(), -1);
  for (std::size_t n = 0; n < spec.nodes.size(); ++n) {
    const PlanNode& node = spec.nodes[n];
    if (node.is_int) continue;
    if (isView(node.op.kind) && !node.src.empty() && node.src[0] >= 0)
      (*this)[node.dst[0]].group = (*this)[node.src[0]].group;
    for (std::int32_t src : node.src) {
      if (src >= 0) setLastUse(src, static_cast<std::int32_t>(n));
    }
  }
  for (std::int32_t output : spec.outputs) setLastUse(output, std::numeric_limits<std::int32_t>::max());
}

std::int32_t PlanValues::newValue(const TensorDesc& desc, std::int32_t group) {
  const auto index = static_cast<std::int32_t>(values_.size());
  Value value;
  value.desc = desc;
  value.group = group < 0 ? index : group;
  values_.push_back(std::move(value));
  if (group < 0) last_use_.resize(values_.size(), -1);
  return index;
}

std::int32_t PlanValues::newBuffer(std::size_t bytes, const DeviceId& device) {
  buffers_.push_back({SlotHome::kArena, 0, bytes, device});
  return static_cast<std::int32_t>(buffers_.size() - 1);
}

void PlanValues::allocate(std::int32_t index, const TensorDesc& desc) {
  Value& value = (*this)[index];
  value.desc = desc;
  value.offset = 0;
  value.buffer = newBuffer(desc.bytes(), desc.device);
}

void PlanValues::makeView(std::int32_t index, std::int32_t source, const TensorDesc& view, std::int64_t offset) {
  const std::int64_t offset_bytes = offset * static_cast<std::int64_t>(elementBytes(view.dtype));
  const Value& from = (*this)[source];
  Value& value = (*this)[index];
  value.desc = view;
  value.buffer = from.buffer;
  value.offset = from.offset + offset_bytes;
  value.computed = from.computed;
  if (from.constant != nullptr) value.constant = static_cast<const char*>(from.constant) + offset_bytes;
}

std::int32_t PlanValues::sameMemoryView(std::int32_t index, const TensorDesc& wanted, bool reaches) {
  const TensorDesc& desc = (*this)[index].desc;
  const bool same_memory = (reaches || desc.device == wanted.device) && desc.bytes() == wanted.bytes();
  if (!same_memory || !plainest(desc).sameLayout(plainest(wanted))) return -1;
  const std::int32_t view = newValue(wanted, (*this)[index].group);
  makeView(view, index, wanted, 0);
  return view;
}

std::int32_t PlanValues::knownInLayout(std::int32_t index, const TensorDesc& wanted) const {
  const auto isWanted = [&](std::int32_t value) {
    const TensorDesc& desc = (*this)[value].desc;
    return desc.device == wanted.device && desc.sameLayout(wanted);
  };
  if (isWanted(index)) return index;
  for (const std::int32_t copy : (*this)[index].copies) {
    if (isWanted(copy)) return copy;
  }
  return -1;
}

void PlanValues::makePart(std::int32_t part, std::int32_t whole, std::int64_t offset) {
  buffer(part).parent = whole;
  buffer(part).offset = offset;
  buffer(whole).needed_until = std::max(buffer(whole).needed_until, buffer(part).needed_until);
}

void PlanValues::joinGroups(std::int32_t value, std::int32_t with) {
  const std::int32_t from = (*this)[value].group, to = (*this)[with].group;
  const std::int32_t last = std::max(lastUse(with), lastUse(value));
  setLastUse(with, last);
  for (Value& each : values_) {
    if (each.group == from) each.group = to;
  }
  const std::int32_t held = placeOf(with).buffer;
  if (held >= 0) buffer(held).needed_until = std::max(buffer(held).needed_until, last);
}

PlanValues::Place PlanValues::placeOf(std::int32_t index) const {
  Place place{(*this)[index].buffer, (*this)[index].offset};
  while (place.buffer >= 0 && buffer(place.buffer).parent >= 0) {
    place.offset += buffer(place.buffer).offset;
    place.buffer = buffer(place.buffer).parent;
  }
  return place;
}

bool PlanValues::fillsItsBuffer(std::int32_t index) const {
  const Place place = placeOf(index);
  return (*this)[index].constant == nullptr && place.buffer >= 0 && place.offset == 0 &&
         buffer(place.buffer).home == SlotHome::kArena && buffer(place.buffer).bytes == (*this)[index].desc.bytes();
}

std::vector<TensorDesc> PlanValues::descsOf(const std::vector<std::int32_t>& indices) const {
  std::vector<TensorDesc> descs;
  descs.reserve(indices.size());
  for (const std::int32_t index : indices) descs.push_back(index < 0 ? TensorDesc() : (*this)[index].desc);
  return descs;
}

bool PlanValues::infer(const OpSpec& op, const std::vector<std::int32_t>& src, std::vector<TensorDesc>* dims) const {
  return inferShapes(op, descsOf(src), dims).ok;
}

OpSpec PlanValues::resolve(const PlanNode& node) const {
  OpSpec op = node.op;
  for (const AttrRef& ref : node.refs) {
    const std::int64_t integer = (*this)[ref.value].integer;
    AttrValue& attribute = op.attributes.at(ref.attribute);
    if (ref.index < 0) {
      attribute = integer;
    } else {
      std::get<std::vector<std::int64_t>>(attribute)[static_cast<std::size_t>(ref.index)] = integer;
    }
  }
  return op;
}

// The sizes of all inputs are known, so size arithmetic is done here and no run repeats it.
void PlanValues::computeInteger(const PlanNode& node) {
  Value& value = (*this)[node.dst[0]];
  value.is_int = true;
  const StepLabel label{"size arithmetic", {}};
  if (node.int_op == IntOp::kLiteral) {
    value.integer = node.literal;
  } else if (node.int_op == IntOp::kSize) {
    const Dims& dims = (*this)[node.src[0]].desc.dims;
    const std::int64_t axis = node.literal < 0 ? node.literal + dims.rank : node.literal;
    if (axis < 0 || axis >= dims.rank) refuseInputs(label, "a dimension is out of range");
    value.integer = dims[static_cast<int>(axis)];
  } else {
    const std::int64_t right = node.src.size() > 1 ? (*this)[node.src[1]].integer : 0;
    if (!evaluate(node.int_op, (*this)[node.src[0]].integer, right, &value.integer))
      refuseInputs(label, "it overflows");
  }
}

PrepareArgs PlanValues::argsOf(const OpSpec& op, const std::vector<std::int32_t>& src,
                               const std::vector<TensorDesc>& dims) const {
  PrepareArgs args;
  args.spec = op;
  args.src = descsOf(src);
  args.dst = dims;
  std::vector<std::int32_t> read;  // buffers of all operands, sorted
  for (std::int32_t index : src) {
    if (index >= 0) read.push_back(placeOf(index).buffer);
  }
  std::sort(read.begin(), read.end());
  for (std::int32_t index : src) {
    const Value* value = index < 0 ? nullptr : &(*this)[index];
    // Packed weights outlive the plan, so they are never made from values that it computed itself.
    args.constant.push_back(value && !value->computed ? value->constant : nullptr);
    bool dies = false;
    if (value != nullptr && lastUse(index) <= node_ && fillsItsBuffer(index)) {
      const std::int32_t held = placeOf(index).buffer;
      const auto readers = std::equal_range(read.begin(), read.end(), held);
      dies = buffer(held).needed_until <= node_ && readers.second - readers.first == 1;
    }
    args.src_dies.push_back(dies);
  }
  return args;
}

}  // namespace ipex_studio
