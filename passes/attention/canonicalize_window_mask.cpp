// Lets attention within windows see its masks in one step.
//   before  %s = add(matmul(%q, %kt), %bias)          [B, H, S, T]: windows, heads, queries, keys
//           %m = add(view(%s, [N, W, H, S, T]), %mask)  one mask for each of the W windows of an image
//           %p = softmax(view(%m, [-1, H, S, T]), -1)
//           %y = matmul(%p, %v)
//   after   %m = add(matmul(reshape(%q, [N, W, …]), reshape(%kt, [N, W, …])), add(%mask, %bias))
//           %p = softmax(%m, -1)
//           %y = reshape(matmul(%p, reshape(%v, [N, W, …])), [B, H, S, D])
// Windows of an image become an axis of their own for the whole attention, as Swin (Liu et al., arXiv:2103.14030) means
// them, so that fuse-softmax and fuse-attention find products, one mask and a softmax next to each other. The sum of
// the masks is as large as one of the two was before; where both are known when a plan is made, it costs nothing at run
// time.
// Declines: producer-has-other-uses, control-flow, unsupported-attribute (other views), unsupported-dtype,
// unknown-shape, operand-broadcasts-result (a bias of its own for each window), value-may-be-aliased-or-written.
// Runs after fuse-matmul-transpose, which leaves plain queries and keys, and before fuse-softmax.
// Numerics: the masks are summed up before the scores are added.
#include <ATen/ExpandUtils.h>

#include <algorithm>

#include "core/graph/elementwise.h"
#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/node_writer.h"
#include "passes/match/post_op_fusion.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;
using Ints = std::vector<std::int64_t>;

namespace {

struct WindowMask {
  FusedOp scores, result;  // the two products
  Node *softmax = nullptr, *split = nullptr;
  Value *mask = nullptr, *bias = nullptr;
  std::vector<Node*> nodes;  // from the second product upwards
};

bool isPlainSum(const Node* node) {
  return isKind(node, "aten::add") && node->inputs().size() == 3 && constantNumber(node->input(2)) == 1.0;
}

// True if the view keeps the last three axes, and its constants say so.
bool keepsLastThree(const Node* view) {
  const auto from = knownSizes(view->input(0)), to = knownSizes(view->output());
  if (!from || !to || from->size() < 4 || to->size() < 4 || !std::equal(from->end() - 3, from->end(), to->end() - 3))
    return false;
  if (constantInts(view->input(1))) return true;
  const auto entries = decidedElements(view->input(1));
  return entries && entries->size() >= 3 && std::all_of(entries->end() - 3, entries->end(), [](const Value* entry) {
           return constantInt(entry).has_value();
         });
}

// The chain from the second product up to its masked sum of five axes; false: this is something else.
bool readMaskedWindows(Node* node, WindowMask* match) {
  const auto result = readFusedOp(node);
  if (!result || result->spec.kind != OpKind::kMatmul || !result->spec.post_ops.empty()) return false;
  match->result = *result;
  match->softmax = result->base[0]->node();
  if (!isKind(match->softmax, "aten::softmax") || !isReshape(match->softmax->input(0)->node())) return false;
  Node* merge = match->softmax->input(0)->node();
  Node* sum = merge->input(0)->node();
  if (!isPlainSum(sum)) return false;
  for (const std::size_t side : {0, 1}) {
    Node* split = sum->input(side)->node();
    if (!isReshape(split) || match->split != nullptr) continue;
    match->split = split;
    match->mask = sum->input(1 - side);
  }
  if (match->split == nullptr) return false;
  const auto scores = knownSizes(match->split->input(0)), windows = knownSizes(match->split->output());
  if (!scores || !windows || scores->size() != 4 || windows->size() != 5) return false;
  match->nodes = {node, match->softmax, merge, sum, match->split};
  return true;
}

Decline readWindowScores(WindowMask* match) {
  const auto four = knownSizes(match->split->input(0)), back = knownSizes(match->softmax->input(0));
  if (four != back || !keepsLastThree(match->split) || !keepsLastThree(match->nodes[2])) {
    return {reasons::kUnsupportedAttribute, "The windows are taken apart or put together in another way."};
  }
  const auto axis = constantInt(match->softmax->input(1));
  if ((axis != -1 && axis != 3) || !isNone(match->softmax->input(2))) {
    return {reasons::kUnsupportedAttribute, "The softmax is over another axis than the last, or in another type."};
  }
  Value* scores = match->split->input(0);
  if (isPlainSum(scores->node())) {
    const std::size_t side = readFusedOp(scores->node()->input(0)->node()) ? 0 : 1;
    match->nodes.push_back(scores->node());
    match->bias = scores->node()->input(1 - side);
    scores = scores->node()->input(side);
  }
  const auto product = readFusedOp(scores->node());
  if (!product || product->spec.kind != OpKind::kMatmul || !product->spec.post_ops.empty()) {
    return {reasons::kUnsupportedOperator, "The scores are no matrix product."};
  }
  match->scores = *product;
  match->nodes.push_back(scores->node());
  return {};
}

Decline whyNotWindows(PassContext& context, const WindowMask& match) {
  const Node* last = match.nodes.front();
  for (const Node* node : match.nodes) {
    if (node == last) continue;
    if (node->output()->uses().size() != 1) return {reasons::kOtherUses, "Scores are read elsewhere."};
    if (node->owningBlock() != last->owningBlock())
      return {reasons::kControlFlow, "The scores come from another block."};
  }
  const auto batch = knownSizes(match.split->input(0));
  for (const Value* operand : {match.scores.base[0], match.scores.base[1], match.result.base[1]}) {
    const auto sizes = knownSizes(operand);
    if (!sizes || sizes->size() != 4) return {reasons::kUnknownShape, "Queries, keys or values do not have four axes."};
    if (!std::equal(sizes->begin(), sizes->begin() + 2, batch->begin())) {
      return {reasons::kBroadcast, "Queries, keys or values are shared by windows or heads."};
    }
  }
  std::vector<const Value*> operands = {match.scores.base[0], match.scores.base[1], match.result.base[1], match.mask};
  if (match.bias != nullptr) operands.push_back(match.bias);
  for (const Value* operand : operands) {
    if (!isFloat32(operand)) return {reasons::kUnsupportedDtype, "An operand is not known to be float32."};
    if (context.mayBeWritten(operand)) return {reasons::kAliased, "An operand may be written to."};
  }
  const auto mask = knownSizes(match.mask), windows = knownSizes(match.split->output());
  if (!mask || !broadcastsTo(*mask, *windows)) return {reasons::kBroadcast, "The mask enlarges the scores."};
  if (match.bias == nullptr) return {};
  const auto bias = knownSizes(match.bias);
  const bool shared = bias && broadcastsTo(*bias, *batch) && (bias->size() < 4 || bias->front() == 1);
  return shared ? Decline{} : Decline{reasons::kBroadcast, "Each window has a bias of its own."};
}

class WindowRewrite {
 public:
  WindowRewrite(Rewriter& rewriter, const WindowMask& match)
      : rewriter_(rewriter),
        match_(match),
        write_(rewriter, match.nodes.front(), at::kFloat),
        windows_(*knownSizes(match.split->output())) {}

  void run() {
    Node* last = match_.nodes.front();
    FusedOp scores = match_.scores, result = match_.result;
    Value* q = scores.base[0];
    Value* v = result.base[1];
    const Ints result_sizes = *knownSizes(last->output());
    for (Value*& operand : scores.base) operand = inWindows(operand);
    Value* products = write_.typed(writeFusedOp(rewriter_, scores, last), windows_);
    Value* added = mask();
    Value* masked = write_.make("aten::add", {products, added, write_.number(1)}, windows_);
    Value* axis = write_.number(-1);
    Value* weights = write_.make("aten::softmax", {masked, axis, write_.none()}, windows_);
    result.base = {weights, inWindows(v)};
    Value* five = write_.typed(writeFusedOp(rewriter_, result, last),
                               {windows_[0], windows_[1], result_sizes[1], result_sizes[2], result_sizes[3]});
    const bool q_turned = scores.spec.intOr("transpose_a", 0) != 0;
    const std::vector<Value*> sizes = {write_.size(q, 0), write_.size(q, 1), write_.size(q, q_turned ? 3 : 2),
                                       write_.size(v, 3)};
    Value* y = write_.make("aten::reshape", {five, write_.list(sizes)}, result_sizes);
    const std::vector<Node*> consumed(match_.nodes.rbegin(), match_.nodes.rend());
    rewriter_.replace(consumed, last->output(), y, "gave the windows of attention an axis of their own");
  }

 private:
  // The number of images, that of windows in each.
  Value* leading(std::size_t axis) {
    if (const auto constant = constantInts(match_.split->input(1))) return write_.number((*constant)[axis]);
    return match_.split->input(1)->node()->input(axis);
  }

  Value* inWindows(Value* operand) {
    const Ints sizes = *knownSizes(operand);
    Value* shape = write_.list(
        {leading(0), leading(1), write_.size(operand, 1), write_.size(operand, 2), write_.size(operand, 3)});
    return write_.make("aten::reshape", {operand, shape}, {windows_[0], windows_[1], sizes[1], sizes[2], sizes[3]});
  }

  Value* mask() {
    if (match_.bias == nullptr) return match_.mask;
    const Ints sizes = at::infer_size(*knownSizes(match_.mask), *knownSizes(match_.bias));
    return write_.make("aten::add", {match_.mask, match_.bias, write_.number(1)}, sizes);
  }

  Rewriter& rewriter_;
  const WindowMask& match_;
  NodeWriter write_;
  Ints windows_;
};

std::optional<WindowMask> matchWindowMask(PassContext& context, Node* node, Decline* why) {
  WindowMask match;
  if (!readMaskedWindows(node, &match)) return std::nullopt;
  *why = readWindowScores(&match);
  if (!*why) *why = whyNotWindows(context, match);
  return match;
}

bool canonicalizeWindowMask(torch::jit::Graph& graph, PassContext& context) {
  const auto rewrite = [](Rewriter& rewriter, Node*, const WindowMask& match) { WindowRewrite(rewriter, match).run(); };
  return rewriteMatches(context, context.nodes({"aten::matmul", "aten::bmm", "aten::mm", "ipex_studio::matmul"}),
                        matchWindowMask, rewrite);
}

}  // namespace

const Pass kCanonicalizeWindowMask = {"canonicalize-window-mask",
                                      "Lets attention within windows see its masks in one step.",
                                      &canonicalizeWindowMask,
                                      {"aten::softmax"}};

}  // namespace ipex_studio
