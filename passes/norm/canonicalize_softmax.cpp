// Recognises softmax and log_softmax that were written out with the maximum taken off.
//   before  %m, %i = max(%x, 1, True)   %e = exp(sub(%x, %m, 1))   %y = div(%e, sum(%e, [1], True, None))
//   after   %y = softmax(%x, 1, None)
//   before  %d = sub(%x, %m, 1)   %y = sub(%d, log(sum(exp(%d), [1], True, None)), 1)
//           %z = sub(%x, logsumexp(%x, [1], True), 1)
//   after   %y = %z = log_softmax(%x, 1, None)
// Also amax, and reductions that drop the axis with an unsqueeze behind them. Without the maximum the formula overflows
// where softmax does not, so it stays.
// Declines: producer-has-other-uses, unsupported-dtype (float32 and float64 only), value-may-be-aliased-or-written.
// Runs before the fusions of factors, masks and attention. Numerics: rounding only; NaN and infinities as before.
#include <algorithm>

#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/algebra.h"
#include "passes/match/pieces.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

struct Reduction {
  Value* source = nullptr;
  std::int64_t axis = 0;
  std::vector<Node*> nodes;
};

// The axis of a reduction along one axis.
std::optional<std::int64_t> reducedAxis(const Node* node) {
  if (isKind(node, "aten::max"))
    return node->inputs().size() == 3 ? readAxis(node->input(1), node->input(0)) : std::nullopt;
  const auto axes = constantInts(node->input(1));
  return axes && axes->size() == 1 && knownSizes(node->input(0)) ? readAxis(axes->front(), node->input(0))
                                                                 : std::nullopt;
}

// Reads a reduction of one of these kinds whose axis stays, with size 1.
std::optional<Reduction> readReduction(Value* value, std::initializer_list<const char*> kinds) {
  Reduction found;
  bool added = false;
  std::int64_t added_axis = 0;
  if (isKind(value->node(), "aten::unsqueeze")) {
    const auto axis = readAxis(value->node()->input(1), value);
    if (!axis) return std::nullopt;
    added = true;
    added_axis = *axis;
    found.nodes.push_back(value->node());
    value = value->node()->input(0);
  }
  Node* node = value->node();
  const bool fits = std::any_of(kinds.begin(), kinds.end(), [&](const char* kind) { return isKind(node, kind); });
  if (!fits || node->inputs().size() < 3 || value != node->output(0)) return std::nullopt;
  const auto axis = reducedAxis(node);
  if (!axis || constantBool(node->input(2)) != !added || (added && added_axis != *axis)) return std::nullopt;
  if (isKind(node, "aten::sum") && (node->inputs().size() != 4 || !isNone(node->input(3)))) return std::nullopt;
  found.source = node->input(0);
  found.axis = *axis;
  found.nodes.push_back(node);
  return found;
}

struct SoftmaxForm {
  Value* x = nullptr;
  std::int64_t axis = 0;
  bool log = false;
  std::vector<Node*> nodes;  // the root last
};

bool isDifference(const Node* node) {
  return isKind(node, "aten::sub") && node->inputs().size() == 3 && constantNumber(node->input(2)) == 1;
}

void append(std::vector<Node*>* to, const std::vector<Node*>& nodes) {
  to->insert(to->end(), nodes.begin(), nodes.end());
}

// x less its maximum, which both forms begin with.
bool readShifted(Value* value, std::int64_t axis, SoftmaxForm* form) {
  Node* node = value->node();
  if (!isDifference(node)) return false;
  const auto most = readReduction(node->input(1), {"aten::max", "aten::amax"});
  if (!most || most->source != node->input(0) || most->axis != axis) return false;
  form->x = most->source;
  form->axis = axis;
  append(&form->nodes, most->nodes);
  form->nodes.push_back(node);
  return true;
}

std::optional<SoftmaxForm> readPlainSoftmax(Node* root) {
  if (!isKind(root, "aten::div") || root->inputs().size() != 2) return std::nullopt;
  Node* exponential = root->input(0)->node();
  const auto sum = readReduction(root->input(1), {"aten::sum"});
  if (!isKind(exponential, "aten::exp") || !sum || sum->source != root->input(0)) return std::nullopt;
  SoftmaxForm form;
  if (!readShifted(exponential->input(0), sum->axis, &form)) return std::nullopt;
  form.nodes.push_back(exponential);
  append(&form.nodes, sum->nodes);
  form.nodes.push_back(root);
  return form;
}

std::optional<SoftmaxForm> readLogSoftmax(Node* root) {
  if (!isDifference(root)) return std::nullopt;
  SoftmaxForm form;
  form.log = true;
  if (const auto all = readReduction(root->input(1), {"aten::logsumexp"}); all && all->source == root->input(0)) {
    form.x = all->source;
    form.axis = all->axis;
    append(&form.nodes, all->nodes);
    form.nodes.push_back(root);
    return form;
  }
  Node* logarithm = root->input(1)->node();
  if (!isKind(logarithm, "aten::log")) return std::nullopt;
  const auto sum = readReduction(logarithm->input(0), {"aten::sum"});
  if (!sum || !isKind(sum->source->node(), "aten::exp") || sum->source->node()->input(0) != root->input(0))
    return std::nullopt;
  if (!readShifted(root->input(0), sum->axis, &form)) return std::nullopt;
  form.nodes.push_back(sum->source->node());
  append(&form.nodes, sum->nodes);
  form.nodes.push_back(logarithm);
  form.nodes.push_back(root);
  return form;
}

Decline whyNot(PassContext& context, const SoftmaxForm& form) {
  if (!onlyReadInside(form.nodes, form.nodes.back()))
    return {reasons::kOtherUses, "A part of this softmax is read elsewhere."};
  const auto dtype = knownDtype(form.x);
  if (dtype != at::kFloat && dtype != at::kDouble)
    return {reasons::kUnsupportedDtype, "The source of this softmax is not known to be float32 or float64."};
  if (context.mayBeWritten(form.x)) return {reasons::kAliased, "The source of this softmax may be written to."};
  return {};
}

std::optional<SoftmaxForm> matchSoftmaxForm(PassContext& context, Node* root, Decline* why) {
  auto form = readPlainSoftmax(root);
  if (!form) form = readLogSoftmax(root);
  if (form) *why = whyNot(context, *form);
  return form;
}

void rewriteSoftmaxForm(Rewriter& rewriter, Node* root, const SoftmaxForm& form) {
  Node* softmax = rewriter.create(form.log ? "aten::log_softmax" : "aten::softmax",
                                  {form.x, rewriter.constant(form.axis, root), rewriter.none(root)}, root);
  softmax->output()->setType(root->output()->type());
  rewriter.replace(form.nodes, root->output(), softmax->output(),
                   form.log ? "recognised log_softmax" : "recognised softmax");
}

bool canonicalizeSoftmax(torch::jit::Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes({"aten::div", "aten::sub"}), matchSoftmaxForm, rewriteSoftmaxForm);
}

}  // namespace

const Pass kCanonicalizeSoftmax = {"canonicalize-softmax",
                                   "Recognises softmax that was written out.",
                                   &canonicalizeSoftmax,
                                   {"aten::exp", "aten::logsumexp"}};

}  // namespace ipex_studio
