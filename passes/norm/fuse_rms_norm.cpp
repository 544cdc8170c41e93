// Fuses the division of rows by their root mean square or by their length, and a constant factor and offset behind it.
//   before  %v = mean(pow(%x, 2), [-1], True)   %r = rsqrt(add(%v, 1e-6))   %y = mul(gamma, mul(%x, %r))
//   after   %y = ipex_studio::layer_norm(%x, gamma, None, None, "layer_norm{axes=1,eps=1e-06,rms=1}")
//   before  %n = clamp_min(norm(%x, 2, [-1], True), 1e-12)   %y = div(%x, expand(%n, sizes of %x))
//   after   %y = ipex_studio::layer_norm(%x, None, None, None, "layer_norm{axes=1,eps=1e-12,l2=1}")
// Likewise with div by sqrt, over several of the last axes, where nothing keeps the length from 0, and for
// aten::rms_norm of PyTorch 2.4. Declines: unknown-shape, unsupported-attribute (other axes than the last ones, sizes
// or eps that are not constant), shape-mismatch (a weight of other sizes), unsupported-dtype, producer-has-other-uses
// (an intermediate), value-may-be-aliased-or-written.
// Runs after fuse-attention, which moves factors of the scores to what is normalized, and before fuse-add-layer-norm,
// which adds the residual. Numerics: squares are summed in another order, a few ulp. RMS norm: arXiv 1910.07467.
#include <limits>

#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/post_op_fusion.h"
#include "passes/norm/norm_forms.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

struct RowNormMatch {
  Value* x = nullptr;
  const char* norm = nullptr;  // the attribute
  std::vector<std::int64_t> axes;
  double eps = 0;
  Node* last = nullptr;
  std::vector<Node*> nodes;
  std::optional<at::Tensor> gamma, beta;
  Value* weight = nullptr;  // in the place of gamma
};

// x times the inverse of its root mean square, or divided by it.
std::optional<RowNormMatch> matchRootMeanSquare(Node* root) {
  const bool is_div = isKind(root, "aten::div");
  for (const std::size_t side : {0, 1}) {
    if (is_div && side == 1) break;
    RowNormMatch match{root->input(side), "rms", {}, 0, root, {root}, {}, {}, nullptr};
    const auto deviation = readDeviation(root->input(1 - side), !is_div, &match.nodes);
    const auto mean = deviation ? readMean(deviation->variance) : std::nullopt;
    if (!mean) continue;
    match.nodes.push_back(deviation->variance->node());
    if (!isSquareOf(mean->source, match.x, &match.nodes)) continue;
    match.axes = mean->axes;
    match.eps = deviation->eps;
    return match;
  }
  return std::nullopt;
}

// True if the list holds the sizes of x, as far as the graph tells: read from x, kept (-1), or equal to those of the
// example run.
bool areSizesOf(const Value* list, const Value* x) {
  const auto sizes = knownSizes(x);
  if (list->node()->kind() == torch::jit::prim::Constant) return sizes && constantInts(list) == sizes;
  const auto entries = decidedElements(list);
  if (!sizes || !entries || entries->size() != sizes->size()) return false;
  for (std::size_t axis = 0; axis < sizes->size(); ++axis) {
    const Value* size = (*entries)[axis];
    const auto constant = constantInt(size);
    if (constant && (*constant == -1 || *constant == (*sizes)[axis])) continue;
    const Node* asked = size->node();
    const bool of_x = isKind(asked, "aten::size") && asked->inputs().size() == 2 && asked->input(0) == x;
    if (!of_x || constantInt(asked->input(1)) != static_cast<std::int64_t>(axis)) return false;
  }
  return true;
}

// `value` without what spreads it over x, and the least it may be; 0 where nothing says.
double takeFloor(Value** value, const Value* x, std::vector<Node*>* nodes) {
  Node* node = (*value)->node();
  const bool spreads = (isKind(node, "aten::expand") && areSizesOf(node->input(1), x)) ||
                       (isKind(node, "aten::expand_as") && node->input(1) == x);
  if (spreads) {
    nodes->push_back(node);
    *value = node->input(0);
    node = (*value)->node();
  }
  const bool clamps = isKind(node, "aten::clamp_min") || (isKind(node, "aten::clamp") && isNone(node->input(2)));
  const auto least = clamps ? constantNumber(node->input(1)) : std::nullopt;
  if (!least || *least < 0) return 0;
  nodes->push_back(node);
  *value = node->input(0);
  return *least;
}

// x divided by its length.
std::optional<RowNormMatch> matchLength(Node* root) {
  if (!isKind(root, "aten::div")) return std::nullopt;
  RowNormMatch match{root->input(0), "l2", {}, 0, root, {root}, {}, {}, nullptr};
  Value* length = root->input(1);
  match.eps = takeFloor(&length, match.x, &match.nodes);
  Node* norm = length->node();
  if (!isKind(norm, "aten::norm") && !isKind(norm, "aten::linalg_vector_norm")) return std::nullopt;
  const std::size_t inputs = norm->inputs().size();
  if (inputs < 4 || norm->input(0) != match.x || (inputs > 4 && !isNone(norm->input(4)))) return std::nullopt;
  const auto axes = constantInts(norm->input(2));
  const bool is_length = isNone(norm->input(1)) || constantNumber(norm->input(1)) == 2.0;
  if (!is_length || !axes || constantBool(norm->input(3)) != true) return std::nullopt;
  match.axes = *axes;
  match.nodes.push_back(norm);
  return match;
}

// aten::rms_norm(x, normalized_shape, weight?, eps?); without axes where sizes or eps are not constant.
std::optional<RowNormMatch> matchOperator(Node* root) {
  if (!isKind(root, "aten::rms_norm")) return std::nullopt;
  RowNormMatch match{root->input(0), "rms", {}, std::numeric_limits<float>::epsilon(), root, {root}, {}, {},
                     root->input(2)};
  const auto shape = constantInts(root->input(1));
  const auto eps = constantNumber(root->input(3));
  if (!shape || (!eps && !isNone(root->input(3)))) return match;
  if (eps) match.eps = *eps;
  for (std::size_t axis = 1; axis <= shape->size(); ++axis) match.axes.push_back(-static_cast<std::int64_t>(axis));
  return match;
}

// Sizes of the axes that are normalized together; empty if they are not the last ones.
std::vector<std::int64_t> normalizedSizes(const RowNormMatch& match) {
  const auto sizes = knownSizes(match.x);
  const std::size_t axes = match.axes.size();
  if (!sizes || axes == 0 || axes > sizes->size() || !areTrailing(match.axes, sizes->size())) return {};
  return {sizes->end() - static_cast<std::ptrdiff_t>(axes), sizes->end()};
}

// Takes a factor and then an offset along, each where it is a constant for every element of a row.
void takeAffines(RowNormMatch* match) {
  const auto sizes = normalizedSizes(*match);
  if (sizes.empty() || match->weight != nullptr) return;
  const std::size_t rank = knownSizes(match->x)->size();
  const auto take = [&](const char* kind) -> std::optional<at::Tensor> {
    Node* last = match->last;
    std::vector<Node*> nodes = match->nodes;
    auto tensor = takeAffine(kind, &last, &nodes);
    if (!tensor || tensor->scalar_type() != at::kFloat || !trimAffine(&tensor, sizes, rank)) return std::nullopt;
    match->last = last;
    match->nodes = std::move(nodes);
    return tensor;
  };
  match->gamma = take("aten::mul");
  if (match->gamma) match->beta = take("aten::add");
}

Decline whyNot(PassContext& context, const RowNormMatch& match) {
  if (!knownSizes(match.x)) return {reasons::kUnknownShape, "The rank of the normalized tensor is not known."};
  const auto sizes = normalizedSizes(match);
  if (sizes.empty()) {
    return {reasons::kUnsupportedAttribute,
            "It normalizes over other axes than the last ones, or is not told by constants."};
  }
  const bool weighted = match.weight != nullptr && !isNone(match.weight);
  if (weighted && (!isFloat32(match.weight) || knownSizes(match.weight) != sizes)) {
    return {reasons::kShapeMismatch, "The weight is not known to be of float32 and the normalized sizes."};
  }
  if (!isFloat32(match.x)) return {reasons::kUnsupportedDtype, "The normalized tensor is not known to be of float32."};
  if (!onlyReadInside(match.nodes, match.last)) return {reasons::kOtherUses, "A part of it is read elsewhere."};
  if (context.mayBeWritten(match.x)) return {reasons::kAliased, "The normalized tensor may be written to."};
  return {};
}

void rewriteRowNorm(Rewriter& rewriter, Node*, const RowNormMatch& match) {
  Node* last = match.last;
  const auto affine = [&](const std::optional<at::Tensor>& tensor) {
    return tensor ? rewriter.constant(*tensor, last) : rewriter.none(last);
  };
  FusedOp op;
  op.spec.kind = OpKind::kLayerNorm;
  op.spec.attributes = {
      {"axes", static_cast<std::int64_t>(match.axes.size())}, {"eps", match.eps}, {match.norm, std::int64_t{1}}};
  op.base = {match.x, match.weight != nullptr ? match.weight : affine(match.gamma), affine(match.beta),
             rewriter.none(last)};
  Node* fused = writeFusedOp(rewriter, op, last);
  rewriter.replace(match.nodes, last->output(), fused->output(), "fused the normalization of rows");
}

std::optional<RowNormMatch> matchRowNorm(PassContext& context, Node* node, Decline* why) {
  auto match = matchOperator(node);
  if (!match && node->inputs().size() == 2) match = matchRootMeanSquare(node);
  if (!match && node->inputs().size() == 2) match = matchLength(node);
  if (!match) return std::nullopt;
  takeAffines(&*match);
  *why = whyNot(context, *match);
  return match;
}

bool fuseRmsNorm(torch::jit::Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes({"aten::mul", "aten::div", "aten::rms_norm"}), matchRowNorm,
                        rewriteRowNorm);
}

}  // namespace

const Pass kFuseRmsNorm = {"fuse-rms-norm",
                           "Fuses the division of rows by their root mean square or length.",
                           &fuseRmsNorm,
                           {"aten::rsqrt", "aten::sqrt", "aten::norm", "aten::linalg_vector_norm", "aten::rms_norm"}};

}  // namespace ipex_studio
