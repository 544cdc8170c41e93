// Folds an inference batch_norm into the constant weights of what feeds it.
//   before  %y = convolution(%x, W, b, …)   %z = batch_norm(%y, g, beta, mean, var, …, eps)
//   after   %z = convolution(%x, W', b', …)      s = g / sqrt(var + eps)   W' = W·s   b' = (b - mean)·s + beta
// Convolution and transposed convolution of any rank, and linear with a two-dimensional result.
// Declines: weights-not-constant, operand-not-constant, producer-has-other-uses, value-is-graph-output, control-flow,
// mixed-dtype, unsupported-dtype, training-mode, unknown-shape, shape-mismatch, unsupported-attribute (not finite).
// Runs after canonicalize-convolution and canonicalize-batch-norm. Numerics: weights in float64, rounded once.
#include <cmath>

#include "core/graph/rewrite_matches.h"
#include "passes/match/weighted_node.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;

namespace {

struct BatchNormMatch {
  WeightedNode weighted;  // before it
  ChannelAffine affine;   // what it computes
};

Decline readStatistics(const Node* node, const WeightedNode& weighted, ChannelAffine& affine) {
  const auto training = constantBool(node->input(5));
  const auto eps = constantNumber(node->input(7));
  if (!training || !eps) return {reasons::kNotConstant, "The mode or epsilon is not constant."};
  if (*training) return {reasons::kTrainingMode, "The normalization uses the statistics of its own input."};
  std::vector<double> parts[4];  // weight, bias, mean, variance; empty: none
  for (std::size_t i = 0; i < 4; ++i) {
    const auto part = constantTensor(node->input(i + 1));
    if (!part) {
      if (i < 2 && isNone(node->input(i + 1))) continue;
      return {reasons::kNotConstant, "A parameter of the normalization is not constant."};
    }
    if (part->scalar_type() != weighted.weight.scalar_type()) {
      return {reasons::kMixedDtype, "The normalization's parameters have another dtype than the weights."};
    }
    if (part->dim() != 1 || part->size(0) != weighted.channels()) {
      return {reasons::kShapeMismatch, "The normalization has another number of channels than the weights."};
    }
    parts[i] = doublesOf(*part);
  }
  const std::int64_t channels = weighted.channels();
  affine.scale = at::empty({channels}, at::kDouble);
  affine.shift = at::empty({channels}, at::kDouble);
  auto* scale = affine.scale.data_ptr<double>();
  auto* shift = affine.shift.data_ptr<double>();
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    scale[c] = (parts[0].empty() ? 1 : parts[0][c]) / std::sqrt(parts[3][c] + *eps);
    shift[c] = (parts[1].empty() ? 0 : parts[1][c]) - parts[2][c] * scale[c];
  }
  return checkFinite(affine.scale, affine.shift);
}

// batch_norm normalizes dimension 1: of a linear that is the channel only when the result has two dimensions.
Decline checkRank(const Node* node, const WeightedNode& weighted) {
  if (!weighted.isLinear()) return {};
  const auto sizes = knownSizes(node->input(0));
  if (!sizes) return {reasons::kUnknownShape, "The rank of the linear's result is not known."};
  if (sizes->size() != 2) return {reasons::kShapeMismatch, "The normalized dimension is not the linear's last."};
  return {};
}

Decline whyNot(PassContext& context, Node* node, BatchNormMatch* match) {
  Node* producer = node->input(0)->node();
  Decline why = checkOnlyUse(producer, node);
  if (!why) why = readWeightedNode(producer, context, match->weighted);
  if (!why) why = checkRank(node, match->weighted);
  if (!why) why = readStatistics(node, match->weighted, match->affine);
  for (std::size_t i = 1; !why && i < 5; ++i) {
    if (context.mayBeWritten(node->input(i)))
      why = {reasons::kAliased, "The graph writes to the normalization's parameters."};
  }
  return why;
}

std::optional<BatchNormMatch> matchBatchNorm(PassContext& context, Node* node, Decline* why) {
  if (node->kind() != torch::jit::aten::batch_norm || !isWeightedNode(node->input(0)->node())) return std::nullopt;
  BatchNormMatch match;
  *why = whyNot(context, node, &match);
  return match;
}

void rewriteBatchNorm(Rewriter& rewriter, Node* node, const BatchNormMatch& match) {
  foldAffine(match.weighted, node, match.affine.scale, match.affine.shift, rewriter,
             "folded batch normalization into the weights");
}

bool foldBatchNorm(Graph& graph, PassContext& context) {
  at::NoGradGuard no_gradients;
  return rewriteMatches(context, context.nodes(kFoldBatchNorm.needs), matchBatchNorm, rewriteBatchNorm);
}

}  // namespace

const Pass kFoldBatchNorm = {
    "fold-batch-norm", "Folds batch normalization into the weights before it.", &foldBatchNorm, {"aten::batch_norm"}};

}  // namespace ipex_studio
