// Stores weights of linear layers as integers, and rounds what the layers read while they run where the recipe says so.
//   before  %y = linear(%x, W, b, …|gelu)
//   after   %y = linear(%x, W8, None, [scales, b], dynamic=1, |mul(0)|add(1)|gelu)
// For language models: no calibration is needed, since each row of %x gets the range that it has (dynamic), or stays as it is
// (weight-only, which makes the file a quarter). Weights are symmetric s8 per output channel.
// Runs for precision int8 with a recipe of mode dynamic or weight-only, after all fusions. Declines: decided-by-hand,
// weights-not-constant, unsupported-attribute (NaN, infinity), not-profitable (few weights).
#include "core/graph/precision_overrides.h"
#include "core/quantization/recipe.h"
#include "core/quantization/sites.h"
#include "core/quantization/weights.h"
#include "passes/pass_list.h"
#include "passes/quantize_chain.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Value;

constexpr std::int64_t kFewWeights = 1024;

Decline declineOf(const Site& site, PassContext& context) {
  const std::string decided = decidedPrecision(context.options.precision_overrides, context.rewriter.origins(), site.node, opKindName(site.op.spec.kind));
  if (!decided.empty() && decided != "int8") return {reasons::kDecided, "It was decided that it stays out of INT8."};
  const at::Tensor weights = *constantTensor(site.op.src[1].value);
  if (!weights.isfinite().all().item<bool>()) return {reasons::kUnsupportedAttribute, "Its weights hold NaN or infinity."};
  if (weights.numel() < kFewWeights) return {reasons::kNotProfitable, "It has few weights."};
  const bool has_bias = site.op.src.size() > 2 && !site.op.src[2].absent();
  if (has_bias && (site.op.src[2].value == nullptr || !constantTensor(site.op.src[2].value))) {
    return {reasons::kWeightsNotConstant, "Its bias is computed while the model runs."};
  }
  return {};
}

void rewrite(const Site& site, PassContext& context, bool dynamic) {
  FusedOp op;
  op.spec.kind = OpKind::kLinear;
  op.spec.attributes = site.op.spec.attributes;
  if (dynamic) op.spec.attributes["dynamic"] = std::int64_t{1};
  op.base = {site.op.src[0].value, nullptr, nullptr};
  at::Tensor bias;
  if (site.op.src.size() > 2 && !site.op.src[2].absent()) bias = *constantTensor(site.op.src[2].value);
  const QuantizedWeights weights = quantizeWeights(*constantTensor(site.op.src[1].value), dynamic ? integerWeightBits(context.options) : 8);
  setIntegerWeights(context.rewriter, {weights.integers, weights.scales, bias}, 1, &op, site.node);
  const auto shift = static_cast<std::int32_t>(op.post_args.size());
  for (std::size_t s = 3; s < site.op.src.size(); ++s) op.post_args.push_back(operandValue(context.rewriter, site.op.src[s], site.node));
  for (PostOp post_op : site.op.spec.post_ops) {
    if (isBinary(post_op.kind)) post_op.operand += shift;
    appendPostOp(&op.spec.post_ops, post_op);
  }
  Value* result = writeFusedOp(context.rewriter, op, site.node)->output();
  result->setType(site.node->output()->type());
  context.rewriter.replace({site.node}, site.node->output(), result, dynamic ? "rounds rows of its operand, computes in INT8" : "keeps its weights as integers");
}

bool insertIntegerWeights(torch::jit::Graph& graph, PassContext& context) {
  if (context.options.precision != Precision::kInt8 || context.options.quantization_recipe.empty()) return false;
  const QuantizationMode mode = recipeFromText(context.options.quantization_recipe).mode;
  if (mode == QuantizationMode::kStatic) return false;
  bool changed = false;
  const std::vector<Node*> nodes(graph.nodes().begin(), graph.nodes().end());
  for (Node* node : nodes) {
    const auto site = siteOf(node);
    if (!site || site->op.spec.kind != OpKind::kLinear) continue;
    const Decline why = declineOf(*site, context);
    if (why) context.missed(node, why);
    if (why || !context.rewriter.permit()) continue;
    rewrite(*site, context, mode == QuantizationMode::kDynamic);
    changed = true;
  }
  return changed;
}

}  // namespace

const Pass kInsertIntegerWeights = {"insert-integer-weights", "Stores weights of linear layers as integers, without calibration.", &insertIntegerWeights};

}  // namespace ipex_studio
