// Recognises layer normalization that was written out.
//   before  %d = sub(%x, mean(%x, [-1], True))   %v = mean(mul(%d, %d), [-1], True)
//           %y = div(%d, sqrt(add(%v, 1e-5)))    %z = add(mul(%y, gamma), beta)
//   after   %z = layer_norm(%x, sizes of gamma, gamma, beta, 1e-5)
// Likewise with pow(%d, 2), var(%x, …, unbiased=False), mul by rsqrt; beta may be missing, gamma not: only a constant
// tells the normalized sizes for all inputs. Declines: unsupported-attribute (other axes), operand-not-constant
// (gamma), shape-mismatch, unknown-shape, unsupported-dtype, producer-has-other-uses (an intermediate),
// value-may-be-aliased-or-written. Runs after common subexpressions are one and before every fusion. Numerics: the
// operator computes the variance in one walk; relative error below 1e-5 on the cases of the test.
#include <algorithm>

#include "core/graph/elementwise.h"
#include "core/graph/node_facts.h"
#include "passes/algebra.h"
#include "passes/pass_list.h"
#include "passes/post_op_fusion.h"

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

// mean(source, axes, keepdim=True); the source, or null.
Value* readMean(Value* value, std::vector<std::int64_t>* axes) {
  Node* node = value->node();
  if (!isResultOf(value, "aten::mean") || node->inputs().size() != 4 || !isNone(node->input(3))) return nullptr;
  const auto given = constantInts(node->input(1));
  if (!given || given->empty() || constantBool(node->input(2)) != true) return nullptr;
  *axes = *given;
  return node->input(0);
}

// The variance of d over the axes: mean of its square, or var without Bessel's correction of it or of x.
bool readVariance(Value* value, const Value* d, LayerNormMatch* match) {
  std::vector<std::int64_t> axes;
  match->nodes.push_back(value->node());
  if (Value* square = readMean(value, &axes)) {
    const Product product = readProduct(square);
    match->nodes.insert(match->nodes.end(), product.nodes.begin(), product.nodes.end());
    return product.coefficient == 1 && product.factors.size() == 2 && product.factors[0] == d &&
           product.factors[1] == d && axes == match->axes;
  }
  Node* node = value->node();
  if (!isResultOf(value, "aten::var") || node->inputs().size() != 4) return false;
  const bool biased = constantBool(node->input(2)) == false || constantInt(node->input(2)) == 0;
  return biased && constantInts(node->input(1)) == match->axes && constantBool(node->input(3)) == true &&
         (node->input(0) == d || node->input(0) == match->x);
}

// `value` is sqrt(variance + eps), or its inverse.
bool readDeviation(Value* value, bool inverse, const Value* d, LayerNormMatch* match) {
  match->nodes.push_back(value->node());
  if (inverse && isResultOf(value, "aten::reciprocal")) {
    value = value->node()->input(0);
    match->nodes.push_back(value->node());
    inverse = false;
  }
  if (!isResultOf(value, inverse ? "aten::rsqrt" : "aten::sqrt")) return false;
  const Affine affine = readAffine(value->node()->input(0));
  if (affine.nodes.empty() || affine.scale != 1) return false;
  match->nodes.insert(match->nodes.end(), affine.nodes.begin(), affine.nodes.end());
  match->eps = affine.offset;
  return readVariance(affine.value, d, match);
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
    if (readMean(centred->right, &match.axes) != match.x) continue;
    if (readDeviation(root->input(1 - side), !is_div, d, &match)) return match;
  }
  return std::nullopt;
}

// The only reader of the match so far, when it is `kind` with a constant tensor; takes it in and returns the constant.
std::optional<at::Tensor> takeAffine(const char* kind, LayerNormMatch* match) {
  Value* value = match->last->output();
  if (value->uses().size() != 1) return std::nullopt;
  Node* user = value->uses()[0].user;
  if (std::string(kind) != user->kind().toQualString()) return std::nullopt;
  const auto elementwise = readElementwise(user, user->input(0) == value ? 0 : 1);
  if (!elementwise || !elementwise->operand || elementwise->post_ops.size() != 1) return std::nullopt;
  const PostOp& op = elementwise->post_ops[0];
  const auto constant = constantTensor(elementwise->operand);
  if (!constant || (op.kind == PostOpKind::kAdd && op.alpha != 1)) return std::nullopt;
  match->nodes.push_back(user);
  match->last = user;
  return constant;
}

// The axes are the last ones of a tensor of this rank.
bool areTrailing(std::vector<std::int64_t> axes, std::size_t rank) {
  const auto ranks = static_cast<std::int64_t>(rank);
  for (std::int64_t& axis : axes) axis = axis < 0 ? axis : axis - ranks;
  std::sort(axes.begin(), axes.end());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != static_cast<std::int64_t>(i) - static_cast<std::int64_t>(axes.size())) return false;
  }
  return true;
}

// gamma or beta with the normalized sizes only; false when it has others.
bool trim(std::optional<at::Tensor>* tensor, const std::vector<std::int64_t>& sizes, std::size_t rank) {
  if (!*tensor) return true;
  if (static_cast<std::size_t>((*tensor)->dim()) > rank || (*tensor)->numel() != c10::multiply_integers(sizes))
    return false;
  std::vector<std::int64_t> own = (*tensor)->sizes().vec();
  while (own.size() > sizes.size() && own.front() == 1) own.erase(own.begin());
  if (own != sizes) return false;
  *tensor = (*tensor)->detach().reshape(sizes);
  return true;
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
  if (!trim(&match->gamma, normalized, sizes->size()) || !trim(&match->beta, normalized, sizes->size())) {
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

void rewrite(Rewriter& rewriter, const LayerNormMatch& match) {
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

bool canonicalizeLayerNorm(torch::jit::Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : context.nodes({"aten::mul", "aten::div"})) {
    if (!context.rewriter.alive(node) || node->outputs().size() != 1) continue;
    auto match = matchCore(node);
    if (!match) continue;
    match->gamma = takeAffine("aten::mul", &*match);
    if (match->gamma) match->beta = takeAffine("aten::add", &*match);
    if (const Decline decline = whyNot(context, &*match); decline.reason) {
      context.missed(node, decline.reason, decline.text);
      continue;
    }
    if (!context.rewriter.permit()) break;
    rewrite(context.rewriter, *match);
    changed = true;
  }
  return changed;
}

}  // namespace

const Pass kCanonicalizeLayerNorm = {"canonicalize-layer-norm", "Recognises layer normalization that was written out.",
                                     &canonicalizeLayerNorm,
                                     {"aten::mean"}};

}  // namespace ipex_studio
