// Recognises layer normalization that was written out.
//   before  %d = sub(%x, mean(%x, [-1], True))   %v = mean(mul(%d, %d), [-1], True)
//           %y = div(%d, sqrt(add(%v, 1e-5)))    %z = add(mul(%y, gamma), beta)
//   after   %z = layer_norm(%x, sizes of gamma, gamma, beta, 1e-5)
// Likewise with pow(%d, 2), var(%x, …, unbiased=False), mul by rsqrt; beta may be missing, gamma not: only a constant
// tells the normalized sizes for all inputs. Declines: unsupported-attribute (other axes), operand-not-constant
// (gamma), shape-mismatch, unknown-shape, unsupported-dtype, producer-has-other-uses (an intermediate),
// value-may-be-aliased-or-written. Runs after common subexpressions are one and before every fusion. Numerics: the
// operator computes the variance in one walk; relative error below 1e-5 on the cases of the test.
#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/post_op_fusion.h"
#include "passes/norm/norm_forms.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

struct LayerNormMatch {
  Value* x = nullptr;
  std::vector<std::int64_t> axes;  // as written
  double eps = 0;
  Node* last = nullptr;  // of the match
  std::vector<Node*> nodes;
  std::optional<at::Tensor> gamma;
  std::optional<at::Tensor> beta;
};

bool isResultOf(const Value* value, const char* name) { return isKind(value->node(), name); }

// The variance of d over the axes: mean of its square, or var without Bessel's correction of it or of x.
bool readVariance(Value* value, const Value* d, LayerNormMatch* match) {
  match->nodes.push_back(value->node());
  if (const auto mean = readMean(value)) return mean->axes == match->axes && isSquareOf(mean->source, d, &match->nodes);
  Node* node = value->node();
  if (!isResultOf(value, "aten::var") || node->inputs().size() != 4) return false;
  const bool biased = constantBool(node->input(2)) == false || constantInt(node->input(2)) == 0;
  return biased && constantInts(node->input(1)) == match->axes && constantBool(node->input(3)) == true &&
         (node->input(0) == d || node->input(0) == match->x);
}

// The division of x - mean(x) by its deviation.
std::optional<LayerNormMatch> matchCore(Node* root) {
  const bool is_div = isResultOf(root->output(), "aten::div");
  if ((!is_div && !isResultOf(root->output(), "aten::mul")) || root->inputs().size() != 2) return std::nullopt;
  for (std::size_t side : {0, 1}) {
    if (is_div && side == 1) break;
    Value* d = root->input(side);
    const auto centred = isResultOf(d, "aten::sub") ? readSum(d) : std::nullopt;
    if (!centred || centred->right_factor != -1) continue;
    LayerNormMatch match;
    match.x = centred->left;
    match.last = root;
    match.nodes = {root, centred->node, centred->right->node()};
    const auto mean = readMean(centred->right);
    if (!mean || mean->source != match.x) continue;
    match.axes = mean->axes;
    const auto deviation = readDeviation(root->input(1 - side), !is_div, &match.nodes);
    if (!deviation || !readVariance(deviation->variance, d, &match)) continue;
    match.eps = deviation->eps;
    return match;
  }
  return std::nullopt;
}

Decline whyNot(PassContext& context, LayerNormMatch* match) {
  const auto sizes = knownSizes(match->x);
  if (!sizes) return {reasons::kUnknownShape, "The rank of the normalized tensor is not known."};
  if (!areTrailing(match->axes, sizes->size())) {
    return {reasons::kUnsupportedAttribute, "It normalizes over other axes than the last."};
  }
  if (!match->gamma) return {reasons::kNotConstant, "No constant factor follows that would tell the normalized sizes."};
  const std::vector<std::int64_t> normalized(sizes->end() - static_cast<std::ptrdiff_t>(match->axes.size()),
                                             sizes->end());
  if (!trimAffine(&match->gamma, normalized, sizes->size()) || !trimAffine(&match->beta, normalized, sizes->size())) {
    return {reasons::kShapeMismatch, "Factor or offset have other sizes than what is normalized."};
  }
  const auto dtype = knownDtype(match->x);
  const bool same = dtype == match->gamma->scalar_type() && (!match->beta || dtype == match->beta->scalar_type());
  if (!same || !at::isFloatingType(*dtype)) {
    return {reasons::kUnsupportedDtype, "Source, factor and offset are not of one floating dtype."};
  }
  if (!onlyReadInside(match->nodes, match->last)) return {reasons::kOtherUses, "A part of it is read elsewhere."};
  if (context.mayBeWritten(match->x)) return {reasons::kAliased, "The normalized tensor may be written to."};
  return {};
}

void rewriteLayerNorm(Rewriter& rewriter, Node*, const LayerNormMatch& match) {
  Node* last = match.last;
  const std::vector<std::int64_t> sizes = match.gamma->sizes().vec();
  Value* shape = rewriter.constant(c10::List<std::int64_t>(sizes), last);
  Value* gamma = rewriter.constant(*match.gamma, last);
  Value* beta = match.beta ? rewriter.constant(*match.beta, last) : rewriter.none(last);
  Value* eps = rewriter.constant(match.eps, last);
  Value* cudnn = rewriter.constant(false, last);
  Node* norm = rewriter.create("aten::layer_norm", {match.x, shape, gamma, beta, eps, cudnn}, last);
  rewriter.replace(match.nodes, last->output(), norm->output(), "recognised layer normalization");
}

std::optional<LayerNormMatch> matchLayerNorm(PassContext& context, Node* node, Decline* why) {
  if (node->outputs().size() != 1) return std::nullopt;
  auto match = matchCore(node);
  if (!match) return std::nullopt;
  match->gamma = takeAffine("aten::mul", &match->last, &match->nodes);
  if (match->gamma) match->beta = takeAffine("aten::add", &match->last, &match->nodes);
  *why = whyNot(context, &*match);
  return match;
}

bool canonicalizeLayerNorm(torch::jit::Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes({"aten::mul", "aten::div"}), matchLayerNorm, rewriteLayerNorm);
}

}  // namespace

const Pass kCanonicalizeLayerNorm = {"canonicalize-layer-norm",
                                     "Recognises layer normalization that was written out.",
                                     &canonicalizeLayerNorm,
                                     {"aten::mean"}};

}  // namespace ipex_studio
