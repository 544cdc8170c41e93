// Lowering of attention: the fused operator and the one of PyTorch 2.
#include <cmath>
#include <limits>

#include "core/lower/attention_layout.h"
#include "core/lower/lowering_builder.h"

namespace ipex_studio::lowering {
namespace {

using torch::jit::Node;

// Masks are FP32: flags become ones and zeros.
LoweredOp maskCast(const LoweredOperand& mask) {
  OpSpec cast;
  cast.kind = OpKind::kCast;
  cast.attributes["dtype"] = std::string("f32");
  return {cast, {mask}, {}, {}};
}

// ipex_studio::attention(q, k, v, mask?, spec)
LoweredNode lowerFusedAttention(Node* node) {
  for (std::size_t operand = 0; operand < 4; ++operand) {
    if (!isNone(node->input(operand))) needFloat(node->input(operand));
  }
  std::vector<LoweredOperand> src{use(node->input(0)), use(node->input(1)), use(node->input(2)), use(node->input(3))};
  if (src[3].absent() || knownDtype(node->input(3)) != at::kBFloat16)
    return single(needSpec(node), std::move(src), {node->output()});
  LoweredNode lowered;
  lowered.ops.push_back(maskCast(src[3]));
  src[3] = useLocal(0);
  lowered.ops.push_back({needSpec(node), std::move(src), {}, {node->output()}});
  return lowered;
}

// aten::scaled_dot_product_attention(q, k, v, mask?, dropout, is_causal, scale?[, enable_gqa])
LoweredNode lowerAttention(Node* node) {
  for (std::size_t operand = 0; operand < 3; ++operand) needFloat(node->input(operand));
  const bool grouped = node->inputs().size() > 7 && needBool(node->input(7), "enable_gqa");
  if (needNumber(node->input(4), "dropout_p") != 0 || grouped) {
    decline(reasons::kUnsupportedAttribute, "Dropout and grouped heads stay in the interpreter.");
  }
  const auto sizes = knownSizes(node->input(0));
  if (!sizes || sizes->size() < 2) decline(reasons::kUnknownShape, "The head size was not seen in the example run.");
  const bool has_scale = node->inputs().size() > 6 && !isNone(node->input(6));
  OpSpec spec;
  spec.kind = OpKind::kAttention;
  spec.attributes["scale"] =
      has_scale ? needNumber(node->input(6), "scale") : 1.0 / std::sqrt(static_cast<double>(sizes->back()));
  if (needBool(node->input(5), "is_causal")) spec.attributes["causal"] = std::int64_t{1};
  if (readHeadsLast(node->output())) spec.attributes["heads_last"] = std::int64_t{1};
  LoweredNode lowered;
  LoweredOperand mask = use(node->input(3));
  if (!mask.absent() && (knownDtype(node->input(3)) == at::kBool || knownDtype(node->input(3)) == at::kBFloat16)) {
    // In a mask of flags, true lets a key be seen.
    lowered.ops.push_back(maskCast(mask));
    mask = useLocal(0);
    if (knownDtype(node->input(3)) == at::kBool) spec.attributes["keep"] = -std::numeric_limits<double>::infinity();
  } else if (!mask.absent()) {
    needFloat(node->input(3));
  }
  lowered.ops.push_back(
      {spec, {use(node->input(0)), use(node->input(1)), use(node->input(2)), mask}, {}, {node->output()}});
  return lowered;
}

}  // namespace

void addAttentionLowerings(Table& table) {
  table["ipex_studio::attention"] = lowerFusedAttention;
  table["aten::scaled_dot_product_attention"] = lowerAttention;
}

}  // namespace ipex_studio::lowering
