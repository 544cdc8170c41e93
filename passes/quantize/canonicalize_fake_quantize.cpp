// Rounding to integers and back becomes a conversion to plain integers and one back.
//   before  %y = fake_quantize_per_tensor_affine(%x, 0.1, 3, 0, 127)
//   after   %q = pointwise(%x, |linear(10,3)|clip(0,127), result=u8)   %y = pointwise(%q, |linear(0.1,-0.3)|)
// The integers of -128 … 127 are stored with 128 added. Constants, weights first of all, are rounded by fold-constants.
// Declines: operand-not-constant, unsupported-attribute (more than 8 bits), value-may-be-aliased-or-written.
// Runs after all fusions, which know FP32 only. Numerics: the same but where x / scale lies between two integers.
#include <fmt/format.h>

#include <cmath>

#include "core/graph/node_facts.h"
#include "passes/pass_list.h"
#include "passes/quantize/requantization.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;

Decline rewrite(Node* node, PassContext& context, bool* changed) {
  const auto scale = constantNumber(node->input(1)), zero_point = constantNumber(node->input(2));
  const auto low = constantInt(node->input(3)), high = constantInt(node->input(4));
  if (!scale || !zero_point || !low || !high)
    return {reasons::kNotConstant, "Its scale is computed while the model runs."};
  const std::int64_t shift = *low < 0 ? 128 : 0;
  const bool fits = *low + shift >= 0 && *high + shift <= 255 && *low<*high&& * scale> 0 && std::isfinite(*scale);
  if (!fits || knownDtype(node->input(0)) != at::kFloat)
    return {reasons::kUnsupportedAttribute, "It rounds to more than 8 bits, or something else than FP32."};
  if (context.mayBeWritten(node->input(0)) || context.mayBeWritten(node->output()))
    return {reasons::kAliased, "Its result or operand may be written to."};
  if (!context.rewriter.permit(node)) return {};
  const AffineParameters affine{*scale, static_cast<std::int64_t>(*zero_point) + shift};
  std::vector<PostOp> chain{toInteger(affine)};
  if (*low + shift > 0 || *high + shift < 255) {
    chain.push_back(
        unaryPostOp(PostOpKind::kClip, static_cast<double>(*low + shift), static_cast<double>(*high + shift)));
  }
  torch::jit::Value* integers = writePointwise(context.rewriter, node->input(0), std::move(chain), {}, at::kByte, node);
  torch::jit::Value* real = writePointwise(context.rewriter, integers, {toReal(affine)}, {}, at::kFloat, node);
  context.rewriter.replace({node}, node->output(), real, "rounds to integers and back");
  *changed = true;
  return {};
}

bool canonicalizeFakeQuantize(torch::jit::Graph& graph, PassContext& context) {
  bool changed = false;
  const std::vector<Node*> nodes(graph.nodes().begin(), graph.nodes().end());
  for (Node* node : nodes) {
    if (!isKind(node, "aten::fake_quantize_per_tensor_affine")) continue;
    const Decline why = rewrite(node, context, &changed);
    if (why) context.missed(node, why);
  }
  return changed;
}

}  // namespace

const Pass kCanonicalizeFakeQuantize = {"canonicalize-fake-quantize",
                                        "Turns rounding to integers and back into two conversions.",
                                        &canonicalizeFakeQuantize,
                                        {"aten::fake_quantize_per_tensor_affine"}};

}  // namespace ipex_studio
