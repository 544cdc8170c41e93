// Makes one operation of attention: its matrix of scores is then never in memory as a whole.
//   before  %s = ipex_studio::matmul(%q, %k, [], "matmul{scale=0.125,transpose_b=1}")
//           %p = ipex_studio::softmax(%s, %mask, "softmax{axis=-1,log=0,scale=1.0}")
//           %y = matmul(%p, %v)
//   after   %y = ipex_studio::attention(%q, %k, %v, %mask, "attention{scale=0.125}")
// Without mask as well; factors between the two; scores that are filled in by masked_fill or where (a number where a
// mask says so): fill=, keep=. Where the result is read with its axes -3 and -2 exchanged, it may be laid out so
// (heads_last=1). The products may be of any rank, matmul or bmm.
// Declines: unsupported-attribute (another axis or dtype of the softmax, a product that is transposed otherwise),
// producer-has-other-uses (scores or weights that are read elsewhere), control-flow, unsupported-dtype, unknown-shape,
// operand-broadcasts-result (the mask), operand-not-constant (the number filled in), value-may-be-aliased-or-written.
// Runs after fuse-matmul-transpose and fuse-softmax, in whose results it finds factors and masks, and before other
// fusions make post-operations of them. Numerics: sums in another order, the factor is rounded into q.
#include <algorithm>

#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "core/lower/attention_layout.h"
#include "passes/match/node_writer.h"
#include "passes/match/post_op_fusion.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

enum class MaskUse { kNone, kAdd, kFill, kKeep };

struct AttentionMatch {
  Value *q = nullptr, *k = nullptr, *v = nullptr, *mask = nullptr;
  MaskUse use = MaskUse::kNone;
  double filled = 0;
  double scale = 1;
  bool transpose_k = false;  // k stands as [D, T]
  Value* scores = nullptr;   // what is read next, on the way up
  std::vector<Node*> nodes;  // from the second product upwards
};

// The product whose left side is a softmax.
bool readSecondProduct(Node* node, AttentionMatch* match) {
  const auto op = readFusedOp(node);
  if (!op || op->spec.kind != OpKind::kMatmul || !op->spec.post_ops.empty()) return false;
  const Node* left = op->base[0]->node();
  if (!isKind(left, "aten::softmax") && !isKind(left, "ipex_studio::softmax")) return false;
  const bool plain = op->spec.floatOr("scale", 1) == 1 && op->spec.intOr("transpose_a", 0) == 0 &&
                     op->spec.intOr("transpose_b", 0) == 0;
  if (!plain) return false;
  match->scores = op->base[0];
  match->v = op->base[1];
  match->nodes = {node};
  return true;
}

Decline readSoftmax(AttentionMatch* match) {
  Node* node = match->scores->node();
  const auto sizes = knownSizes(match->scores);
  if (!sizes) return {reasons::kUnknownShape, "The rank of the scores is not known."};
  OpSpec spec;
  if (isKind(node, "aten::softmax")) {
    const auto axis = constantInt(node->input(1));
    const bool same_type =
        isNone(node->input(2)) || constantInt(node->input(2)) == static_cast<std::int64_t>(at::kFloat);
    if (!axis || !same_type)
      return {reasons::kUnsupportedAttribute,
              "The softmax computes in another type or along an axis found at run time."};
    spec.attributes["axis"] = *axis;
  } else {
    const auto text = torch::jit::constant_as<std::string>(node->input(2));
    if (!text) return {reasons::kNotConstant, "The description of the softmax is computed at run time."};
    spec = parseOpSpec(*text);
    if (!isNone(node->input(1))) {
      match->mask = node->input(1);
      match->use = MaskUse::kAdd;
    }
  }
  const std::int64_t axis = spec.intOr("axis", -1);
  if ((axis != -1 && axis != static_cast<std::int64_t>(sizes->size()) - 1) || spec.intOr("log", 0) != 0) {
    return {reasons::kUnsupportedAttribute, "The softmax is over another axis than the last, or its logarithm."};
  }
  match->scale = spec.floatOr("scale", 1);
  match->nodes.push_back(node);
  match->scores = node->input(0);
  return {};
}

// masked_fill(scores, mask, number), where(mask, scores, number), where(mask, number, scores).
Decline readFill(AttentionMatch* match) {
  Node* node = match->scores->node();
  const bool is_fill = isKind(node, "aten::masked_fill"), is_where = isKind(node, "aten::where");
  if ((!is_fill && !is_where) || node->inputs().size() != 3 || match->mask != nullptr) return {};
  const bool keeps = is_where && constantNumber(node->input(2)).has_value();
  Value* scores = node->input(is_fill ? 0 : keeps ? 1 : 2);
  const auto number = constantNumber(node->input(is_fill || keeps ? 2 : 1));
  if (!number) return {reasons::kNotConstant, "What hidden scores are filled with is computed at run time."};
  Value* mask = node->input(is_fill ? 1 : 0);
  if (knownDtype(mask) != at::kBool)
    return {reasons::kUnsupportedDtype, "The mask of the scores is not known to be boolean."};
  if (knownSizes(scores) != knownSizes(node->output())) return {reasons::kBroadcast, "The mask enlarges the scores."};
  match->mask = mask;
  match->use = keeps ? MaskUse::kKeep : MaskUse::kFill;
  match->filled = *number * match->scale;
  match->nodes.push_back(node);
  match->scores = scores;
  return {};
}

Decline readFirstProduct(AttentionMatch* match) {
  while (const auto factor = readFactor(match->scores)) {
    match->scale *= factor->first;
    match->nodes.push_back(match->scores->node());
    match->scores = factor->second;
  }
  std::string why;
  const auto op = readFusedOp(match->scores->node(), &why);
  if (!op || op->spec.kind != OpKind::kMatmul)
    return {reasons::kUnsupportedOperator, "The scores are no matrix product."};
  if (!op->spec.post_ops.empty() || op->spec.intOr("transpose_a", 0) != 0) {
    return {reasons::kUnsupportedAttribute,
            "The product of queries and keys has post-operations or reads queries transposed."};
  }
  match->q = op->base[0];
  match->k = op->base[1];
  match->scale *= op->spec.floatOr("scale", 1);
  match->transpose_k = op->spec.intOr("transpose_b", 0) == 0;
  match->nodes.push_back(match->scores->node());
  return {};
}

Decline whyNot(PassContext& context, const AttentionMatch& match) {
  const Node* last = match.nodes.front();
  for (const Node* node : match.nodes) {
    if (node == last) continue;
    if (node->output()->uses().size() != 1) return {reasons::kOtherUses, "Scores or weights are read elsewhere."};
    if (node->owningBlock() != last->owningBlock())
      return {reasons::kControlFlow, "The scores come from another block."};
  }
  for (const Value* operand : {match.q, match.k, match.v}) {
    if (!isFloat32(operand))
      return {reasons::kUnsupportedDtype, "Queries, keys or values are not known to be float32."};
    if (!knownSizes(operand)) return {reasons::kUnknownShape, "The rank of queries, keys or values is not known."};
    if (context.mayBeWritten(operand)) return {reasons::kAliased, "Queries, keys or values may be written to."};
  }
  if (match.mask == nullptr) return {};
  const auto mask = knownSizes(match.mask), scores = knownSizes(match.scores);
  if (!mask || !scores || !broadcastsTo(*mask, *scores)) return {reasons::kBroadcast, "The mask enlarges the scores."};
  if (match.use == MaskUse::kAdd && !isFloat32(match.mask))
    return {reasons::kUnsupportedDtype, "The mask is not known to be float32."};
  if (context.mayBeWritten(match.mask)) return {reasons::kAliased, "The mask may be written to."};
  return {};
}

// A boolean mask as ones and zeros.
Value* maskOf(NodeWriter& write, const AttentionMatch& match) {
  if (match.mask == nullptr) return write.none();
  if (match.use == MaskUse::kAdd) return match.mask;
  Value* dtype = write.number(static_cast<std::int64_t>(at::kFloat));
  Value* no = write.no();
  return write.make("aten::to", {match.mask, dtype, no, no, write.none()}, *knownSizes(match.mask));
}

void rewriteAttention(Rewriter& rewriter, Node* last, const AttentionMatch& match) {
  FusedOp op;
  op.spec.kind = OpKind::kAttention;
  op.spec.attributes["scale"] = match.scale;
  if (match.use == MaskUse::kFill) op.spec.attributes["fill"] = match.filled;
  if (match.use == MaskUse::kKeep) op.spec.attributes["keep"] = match.filled;
  if (readHeadsLast(last->output())) op.spec.attributes["heads_last"] = std::int64_t{1};
  NodeWriter write(rewriter, last, at::kFloat);
  Value* k = match.k;
  if (match.transpose_k) {
    auto sizes = *knownSizes(k);
    std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
    Value* second = write.number(-2);
    k = write.make("aten::transpose", {k, second, write.number(-1)}, sizes);
  }
  op.base = {match.q, k, match.v, maskOf(write, match)};
  Node* fused = writeFusedOp(rewriter, op, last);
  const std::vector<Node*> consumed(match.nodes.rbegin(), match.nodes.rend());
  rewriter.replace(consumed, last->output(), fused->output(),
                   match.mask != nullptr ? "fused masked attention" : "fused attention");
}

std::optional<AttentionMatch> matchAttention(PassContext& context, Node* node, Decline* why) {
  AttentionMatch match;
  if (!readSecondProduct(node, &match)) return std::nullopt;
  *why = readSoftmax(&match);
  if (!*why) *why = readFill(&match);
  if (!*why) *why = readFirstProduct(&match);
  if (!*why) *why = whyNot(context, match);
  return match;
}

bool fuseAttention(torch::jit::Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes({"aten::matmul", "aten::bmm", "aten::mm", "ipex_studio::matmul"}),
                        matchAttention, rewriteAttention);
}

}  // namespace

const Pass kFuseAttention = {"fuse-attention",
                             "Makes one operation of attention, without its matrix of scores.",
                             &fuseAttention,
                             {"aten::softmax", "ipex_studio::softmax"}};

}  // namespace ipex_studio
