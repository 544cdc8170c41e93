// Fuses the factor and the mask in front of a softmax over the last axis into it.
//   before  %s = div(%x, 8)   %m = add(%s, %mask, 1)   %y = softmax(%m, -1)
//   after   %y = ipex_studio::softmax(%x, %mask, "softmax{axis=-1,log=0,scale=0.125}")
// Factor and mask alone fuse as well; so does log_softmax.
// Declines: unsupported-attribute (axis, dtype), unsupported-dtype, unknown-shape, mixed-dtype,
// operand-broadcasts-result, producer-has-other-uses, value-is-graph-output, control-flow,
// value-may-be-aliased-or-written, unsupported-operator (masked_fill). Runs after fuse-matmul-transpose, which takes
// factors for nothing, and before fuse-residual-add, which would make the mask a post-op of the matrix product in a
// second walk over the scores. Numerics: one rounding less.
#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/post_op_fusion.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

struct SoftmaxMatch {
  Value* x = nullptr;
  Value* mask = nullptr;
  double scale = 1;
  std::vector<Node*> nodes;  // from the softmax upwards, without it
};

// A step towards the softmax that only `user` reads.
Decline whyNotTaken(PassContext& context, const Value* value, const Node* user) {
  if (value->uses().size() != 1) return {reasons::kOtherUses, "The scores are read elsewhere."};
  if (value->node()->owningBlock() != user->owningBlock())
    return {reasons::kControlFlow, "The scores come from another block."};
  for (const Value* input : value->node()->inputs()) {
    if (context.mayBeWritten(input)) return {reasons::kAliased, "The scores may be written to before they are read."};
  }
  return {};
}

// The sum of scores and a mask: the side that has the sizes of the result is the scores, a scaled one first.
std::optional<Elementwise> readMaskedScores(PassContext& context, Node* node, Decline* decline) {
  std::optional<Elementwise> best;
  for (std::size_t side : {1, 0}) {
    auto elementwise = readElementwise(node, side);
    if (!elementwise || !elementwise->operand || elementwise->post_ops.size() != 1) continue;
    if (elementwise->post_ops[0].kind != PostOpKind::kAdd || elementwise->post_ops[0].alpha != 1) continue;
    if (!operandFits(context, elementwise->operand, elementwise->data, decline)) continue;
    const bool is_scaled = readUnaryPostOp(elementwise->data->node()).has_value();
    if (!best || is_scaled || side == 0) best = elementwise;
    if (is_scaled) break;
  }
  if (best) *decline = {};
  return best;
}

// Takes the scores apart into factor, mask and product as far as possible; leaves a remark where it stops.
SoftmaxMatch matchScores(PassContext& context, Node* softmax) {
  SoftmaxMatch match;
  match.x = softmax->input(0);
  const auto take = [&](Value* x, Decline decline) {
    const Node* user = match.nodes.empty() ? softmax : match.nodes.back();
    if (!decline.reason) decline = whyNotTaken(context, match.x, user);
    if (decline.reason) {
      context.missed(match.x->node(), decline.reason, decline.text);
      return false;
    }
    match.nodes.push_back(match.x->node());
    match.x = x;
    return true;
  };
  if (isKind(match.x->node(), "aten::masked_fill")) {
    take(nullptr, {reasons::kUnsupportedOperator, "A mask that is filled in has no form as a sum."});
    return match;
  }
  if (isKind(match.x->node(), "aten::add")) {
    Decline decline;
    const auto masked = readMaskedScores(context, match.x->node(), &decline);
    if (masked || decline.reason) {
      if (!take(masked ? masked->data : nullptr, decline)) return match;
      match.mask = masked->operand;
    }
  }
  const auto factor = readFactor(match.x);
  if (factor && take(factor->second, {})) match.scale = factor->first;
  return match;
}

// Declines a softmax that is not over the last axis or not in float32.
Decline whyNot(const Node* softmax, const SoftmaxMatch& match) {
  const auto axis = constantInt(softmax->input(1));
  const auto sizes = knownSizes(match.x);
  if (!sizes) return {reasons::kUnknownShape, "The rank of the scores is not known."};
  if (!axis || (*axis != -1 && *axis != static_cast<std::int64_t>(sizes->size()) - 1)) {
    return {reasons::kUnsupportedAttribute, "The softmax is over another axis than the last."};
  }
  if (!isNone(softmax->input(2)) && constantInt(softmax->input(2)) != static_cast<std::int64_t>(at::kFloat)) {
    return {reasons::kUnsupportedAttribute, "The softmax computes in another dtype."};
  }
  if (!isFloat32(match.x)) return {reasons::kUnsupportedDtype, "The scores are not known to be float32."};
  return {};
}

void rewriteSoftmax(Rewriter& rewriter, Node* softmax, const SoftmaxMatch& match) {
  const std::int64_t is_log = isKind(softmax, "aten::log_softmax");
  FusedOp op;
  op.spec.kind = OpKind::kSoftmax;
  op.spec.attributes = {{"axis", std::int64_t{-1}}, {"log", is_log}, {"scale", match.scale}};
  op.base = {match.x, match.mask ? match.mask : rewriter.none(softmax)};
  Node* fused = writeFusedOp(rewriter, op, softmax);
  std::vector<Node*> consumed = match.nodes;
  consumed.push_back(softmax);
  rewriter.replace(consumed, softmax->output(), fused->output(),
                   match.mask ? "fused a mask into a softmax" : "fused a factor into a softmax");
}

std::optional<SoftmaxMatch> matchSoftmax(PassContext& context, Node* node, Decline* why) {
  if (node->inputs().size() != 3 || (!isKind(node, "aten::softmax") && !isKind(node, "aten::log_softmax")))
    return std::nullopt;
  const SoftmaxMatch match = matchScores(context, node);
  if (match.nodes.empty()) return std::nullopt;
  *why = whyNot(node, match);
  return match;
}

bool fuseSoftmax(torch::jit::Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes(kFuseSoftmax.needs), matchSoftmax, rewriteSoftmax);
}

}  // namespace

const Pass kFuseSoftmax = {"fuse-softmax",
                           "Fuses the factor and the mask in front of a softmax into it.",
                           &fuseSoftmax,
                           {"aten::softmax", "aten::log_softmax"}};

}  // namespace ipex_studio
