// Stores weights of linear layers as integers, and rounds what the layers read while they run where the recipe says so.
//   before  %y = linear(%x, W, b, …|gelu)
//   after   %y = linear(%x, W8, None, [scales, b], dynamic=1, |mul(0)|add(1)|gelu)
//           %y = linear(%x, W4, scales, [b], bits=4, depth=K, group=32|add(0)|gelu)
// For language models: no calibration is needed, since each row of %x gets the range that it has (dynamic), or stays as
// it is (weight-only, which makes the file a quarter or an eighth, and reading the weights faster by as much). Weights
// are symmetric s8 per output channel, or s8 or 4 bits per group of neighbours in a row where a weight-only recipe says
// so. Runs for precision int8 with a recipe of mode dynamic or weight-only, after all fusions. Declines:
// decided-by-hand, weights-not-constant, unsupported-attribute (NaN, infinity), not-profitable (few weights).
#include <fmt/format.h>

#include "core/quantization/grouped_weights.h"
#include "core/quantization/precision_overrides.h"
#include "core/quantization/quantizable_ops.h"
#include "core/quantization/recipe.h"
#include "core/quantization/weights.h"
#include "passes/pass_list.h"
#include "passes/quantize/quantized_tensors.h"
#include "passes/quantize/requantization.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Value;

constexpr std::int64_t kFewWeights = 1024;

Decline declineOf(const QuantizableOp& quantizable, PassContext& context) {
  const std::string decided = decidedPrecision(context.options.precision_overrides, context.rewriter.origins(),
                                               quantizable.node, opKindName(quantizable.op.spec.kind));
  if (!decided.empty() && decided != "int8") return {reasons::kDecided, "It was decided that it stays out of INT8."};
  const at::Tensor weights = *constantTensor(quantizable.op.src[1].value);
  if (!weights.isfinite().all().item<bool>())
    return {reasons::kUnsupportedAttribute, "Its weights hold NaN or infinity."};
  if (weights.numel() < kFewWeights) return {reasons::kNotProfitable, "It has few weights."};
  const bool has_bias = quantizable.op.src.size() > 2 && !quantizable.op.src[2].absent();
  if (has_bias && (quantizable.op.src[2].value == nullptr || !constantTensor(quantizable.op.src[2].value))) {
    return {reasons::kWeightsNotConstant, "Its bias is computed while the model runs."};
  }
  return {};
}

// Scales stand in the place of the bias, which becomes the first post-operation.
void setGroupedWeights(Rewriter& rewriter, const at::Tensor& weights, const at::Tensor& bias, const Recipe& recipe,
                       FusedOp* op, Node* before) {
  const GroupedWeights grouped =
      quantizeGroups(weights, recipe.weight_bits, recipe.group, *nibbleLevels(recipe.weight_levels));
  op->spec.attributes["group"] = recipe.group;
  if (recipe.weight_bits != 8) {
    op->spec.attributes["bits"] = std::int64_t{recipe.weight_bits};
    op->spec.attributes["depth"] = weights.size(1);
    if (recipe.weight_levels != "even") op->spec.attributes["levels"] = recipe.weight_levels;
  }
  op->base[1] = rewriter.constant(grouped.integers, before);
  op->base[2] = rewriter.constant(grouped.scales, before);
  if (!bias.defined()) return;
  op->post_args.push_back(rewriter.constant(bias.detach().to(at::kFloat).contiguous(), before));
  op->spec.post_ops.push_back(binaryPostOp(PostOpKind::kAdd, 0));
}

std::string textFor(const Recipe& recipe) {
  if (recipe.mode == QuantizationMode::kDynamic) return "rounds rows of its operand, computes in INT8";
  if (recipe.group == 0) return "keeps its weights as integers";
  return fmt::format("keeps its weights in {} bits, {} of them with a scale", recipe.weight_bits, recipe.group);
}

at::Tensor biasOf(const QuantizableOp& quantizable) {
  const bool has_bias = quantizable.op.src.size() > 2 && !quantizable.op.src[2].absent();
  return has_bias ? *constantTensor(quantizable.op.src[2].value) : at::Tensor();
}

// For files that any PyTorch runs. Groups of weights have no tensor of PyTorch's; they are written out later.
void rewriteAsTensors(const QuantizableOp& quantizable, PassContext& context, const Recipe& recipe) {
  Node* node = quantizable.node;
  const bool dynamic = recipe.mode == QuantizationMode::kDynamic;
  const QuantizedWeights weights =
      quantizeWeights(*constantTensor(quantizable.op.src[1].value), dynamic ? integerWeightBits(context.options) : 8);
  Value* x = quantizable.op.src[0].value;
  if (dynamic) x = writeRoundedByItself(context.rewriter, x, node);
  readQuantized(context.rewriter, node, x, {weights.integers, weights.scales, {}});
  context.rewriter.finish(node, textFor(recipe));
}

void rewrite(const QuantizableOp& quantizable, PassContext& context, const Recipe& recipe) {
  const bool dynamic = recipe.mode == QuantizationMode::kDynamic;
  FusedOp op;
  op.spec.kind = OpKind::kLinear;
  op.spec.attributes = quantizable.op.spec.attributes;
  if (dynamic) op.spec.attributes["dynamic"] = std::int64_t{1};
  op.base = {quantizable.op.src[0].value, nullptr, nullptr};
  const at::Tensor bias = biasOf(quantizable);
  const at::Tensor given = *constantTensor(quantizable.op.src[1].value);
  if (recipe.group != 0) {
    setGroupedWeights(context.rewriter, given, bias, recipe, &op, quantizable.node);
  } else {
    const QuantizedWeights weights = quantizeWeights(given, dynamic ? integerWeightBits(context.options) : 8);
    setIntegerWeights(context.rewriter, {weights.integers, weights.scales, bias}, 1, &op, quantizable.node);
  }
  const auto shift = static_cast<std::int32_t>(op.post_args.size());
  for (std::size_t s = 3; s < quantizable.op.src.size(); ++s)
    op.post_args.push_back(operandValue(context.rewriter, quantizable.op.src[s], quantizable.node));
  for (PostOp post_op : quantizable.op.spec.post_ops) {
    if (isBinary(post_op.kind)) post_op.operand += shift;
    appendPostOp(&op.spec.post_ops, post_op);
  }
  Value* result = writeFusedOp(context.rewriter, op, quantizable.node)->output();
  result->setType(quantizable.node->output()->type());
  context.rewriter.replace({quantizable.node}, quantizable.node->output(), result, textFor(recipe));
}

bool insertIntegerWeights(torch::jit::Graph& graph, PassContext& context) {
  if (context.options.precision != Precision::kInt8 || context.options.quantization_recipe.empty()) return false;
  const Recipe recipe = recipeFromText(context.options.quantization_recipe);
  if (recipe.mode == QuantizationMode::kStatic) return false;
  bool changed = false;
  const std::vector<Node*> nodes(graph.nodes().begin(), graph.nodes().end());
  for (Node* node : nodes) {
    const auto quantizable = quantizableOpOf(node);
    if (!quantizable || quantizable->op.spec.kind != OpKind::kLinear) continue;
    const Decline why = declineOf(*quantizable, context);
    if (why) context.missed(node, why);
    if (why || !context.rewriter.permit(node)) continue;
    if (recipe.quantized_tensors && recipe.group == 0) {
      rewriteAsTensors(*quantizable, context, recipe);
    } else {
      rewrite(*quantizable, context, recipe);
    }
    changed = true;
  }
  return changed;
}

}  // namespace

const Pass kInsertIntegerWeights = {"insert-integer-weights",
                                    "Stores weights of linear layers as integers, without calibration.",
                                    &insertIntegerWeights};

}  // namespace ipex_studio
