// Recognizes 1x1 convolutions that only a depthwise convolution reads, and writes the operation that computes both.
#include "core/plan/plan_pointwise_depthwise.h"

#include <algorithm>

namespace ipex_studio {
namespace {

// True if the node is a convolution with constant weights and unary post-operations only.
bool isPlainConvolution(const PlanSpec& spec, const PlanNode& node) {
  if (node.is_int || node.op.kind != OpKind::kConvolution || node.src.size() != 3 || node.dst.size() != 1 ||
      !node.refs.empty())
    return false;
  const auto first = static_cast<std::int32_t>(spec.inputs.size()),
             end = first + static_cast<std::int32_t>(spec.constants.size());
  const auto isConstant = [&](std::int32_t value) { return value >= first && value < end; };
  if (!isConstant(node.src[1]) || (node.src[2] >= 0 && !isConstant(node.src[2])) || node.op.has("result")) return false;
  return std::none_of(node.op.post_ops.begin(), node.op.post_ops.end(),
                      [](const PostOp& op) { return isBinary(op.kind); });
}

const TensorDesc& weightsOf(const PlanSpec& spec, const PlanNode& node) {
  return spec.constants[static_cast<std::size_t>(node.src[1]) - spec.inputs.size()];
}

bool areAll(const std::vector<std::int64_t>& values, std::int64_t wanted) {
  return std::all_of(values.begin(), values.end(), [&](std::int64_t value) { return value == wanted; });
}

bool isExpansion(const PlanSpec& spec, const PlanNode& node) {
  if (!isPlainConvolution(spec, node) || node.op.post_ops.size() > 1 || node.op.intOr("groups", 1) != 1) return false;
  const TensorDesc& w = weightsOf(spec, node);
  if (w.dtype != DType::kF32 || w.dims.rank < 3 || w.dims.count() != w.dims[0] * w.dims[1]) return false;
  return areAll(node.op.ints("stride"), 1) && areAll(node.op.ints("padding"), 0) &&
         areAll(node.op.ints("padding_end"), 0);
}

bool isDepthwiseOf(const PlanSpec& spec, const PlanNode& node, std::int64_t channels) {
  if (!isPlainConvolution(spec, node) || channels < 2 || node.op.intOr("groups", 1) != channels) return false;
  const TensorDesc& w = weightsOf(spec, node);
  return w.dtype == DType::kF32 && w.dims.rank >= 3 && w.dims[0] == channels && w.dims[1] == 1 &&
         areAll(node.op.ints("dilation"), 1);
}

}  // namespace

std::vector<std::int32_t> joinableReaders(const PlanSpec& spec) {
  constexpr std::int32_t kNone = -1, kSeveral = -2;
  std::vector<std::int32_t> reader(static_cast<std::size_t>(spec.valueCount()), kNone);
  const auto nodes = static_cast<std::int32_t>(spec.nodes.size());
  for (std::int32_t n = 0; n < nodes; ++n) {
    for (const std::int32_t value : spec.nodes[n].src) {
      if (value >= 0) reader[value] = reader[value] == kNone ? n : kSeveral;
    }
    for (const AttrRef& ref : spec.nodes[n].refs) reader[ref.value] = kSeveral;
  }
  for (const std::int32_t value : spec.outputs) reader[value] = kSeveral;
  std::vector<std::int32_t> joinable(spec.nodes.size(), kNone);
  for (std::int32_t n = 0; n < nodes; ++n) {
    const PlanNode& node = spec.nodes[n];
    if (!isExpansion(spec, node)) continue;
    const std::int32_t next = reader[node.dst[0]];
    const bool joins = next >= 0 && isDepthwiseOf(spec, spec.nodes[next], weightsOf(spec, node).dims[0]) &&
                       spec.nodes[next].src[0] == node.dst[0];
    if (joins) joinable[n] = next;
  }
  return joinable;
}

JoinedNodes joinNodes(const PlanNode& expand, const PlanNode& depthwise) {
  JoinedNodes joined;
  joined.op = depthwise.op;
  joined.op.kind = OpKind::kPointwiseDepthwise;
  joined.op.attributes.erase("groups");
  if (!expand.op.post_ops.empty()) setNamedPostOp("activation", expand.op.post_ops[0], &joined.op);
  joined.src = {expand.src[0], expand.src[1], expand.src[2], depthwise.src[1], depthwise.src[2]};
  joined.name = expand.name + " + " + depthwise.name;
  joined.origins = expand.origins;
  for (const OriginId origin : depthwise.origins) {
    if (std::find(joined.origins.begin(), joined.origins.end(), origin) == joined.origins.end())
      joined.origins.push_back(origin);
  }
  return joined;
}

bool computesBoth(const KernelList& kernels, DeviceKind device, const std::string& kernel) {
  const auto& joined = kernels.candidates(OpKind::kPointwiseDepthwise, device);
  return std::any_of(joined.begin(), joined.end(), [&](const Kernel* each) { return kernel == each->name(); });
}

}  // namespace ipex_studio
