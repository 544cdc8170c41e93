// Levels the ranges of channels between two layers, where what lies between lets positive factors through.
//   before  %y = convolution(%x, W1, b1, …)     %z = relu(%y)   %t = convolution(%z, W2, b2, …)
//   after   %y = convolution(%x, W1/s, b1/s, …)   %z = relu(%y)   %t = convolution(%z, W2·s, b2, …)
//   s[c] = sqrt(max|W1[c]| / max|W2[:,c]|), both ranges of a channel become their geometric mean
// In INT8 a tensor has one scale: where one channel reaches a hundred times as far as another, the other loses its
// levels. Convolutions of any rank and grouping, and linear layers; relu, leaky_relu, max(x, 0) or nothing between.
// Chains of several layers are levelled together, sweep by sweep, until nothing moves. M. Nagel et al.: Data-Free
// Quantization through Weight Equalization and Bias Correction, ICCV 2019 (arXiv:1906.04721).
// Runs while calibrating and for precision int8 where the recipe asks for it: both see the same weights, so the same
// factors.
// Declines: unsupported-operator (what lies between does not let factors through, as relu6), weights-not-constant,
// producer-has-other-uses, value-is-graph-output, control-flow, shape-mismatch, unsupported-dtype,
// unsupported-attribute (transposed, not finite), value-may-be-aliased-or-written.
// Numerics: weights in float64, rounded once per neighbour. Runs after the folds into weights, before activations are
// fused.
#include <fmt/format.h>

#include <cmath>

#include "core/quantization/recipe.h"
#include "passes/match/weighted_node.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

constexpr int kSweeps = 100;
constexpr double kLevel = 1e-4;       // a sweep that moves no factor by more is the last
constexpr double kWorthwhile = 0.02;  // factors closer to one change nothing
constexpr double kLargestFactor = 1e4, kNoRange = 1e-20;

// Largest |w| over a kernel's places, [O, C / groups], and the factors found so far.
struct ChannelRanges {
  at::Tensor ranges, out, in;  // f64; out [O] divides, in [C] multiplies
  std::int64_t groups = 1;

  at::Tensor now() const {
    const std::int64_t rows = ranges.size(0), columns = ranges.size(1);
    const at::Tensor factors =
        in.reshape({groups, 1, columns}).expand({groups, rows / groups, columns}).reshape({rows, columns});
    return ranges * factors / out.reshape({rows, 1});
  }
  at::Tensor perOutput() const { return now().amax(1); }
  at::Tensor perInput() const {
    const std::int64_t rows = ranges.size(0), columns = ranges.size(1);
    return now().reshape({groups, rows / groups, columns}).amax(1).reshape({groups * columns});
  }
};

struct EqualizedPair {
  WeightedNode first, second;
  std::vector<Node*> between;
  at::Tensor factors;  // f64 [C]
};

bool letsFactorsThrough(Node* node) {
  const auto op = readUnaryPostOp(node);
  if (!op) return false;
  const auto homogeneous = [](double bound) { return bound == 0 || std::isinf(bound); };
  return op->kind == PostOpKind::kRelu || op->kind == PostOpKind::kLeakyRelu ||
         (op->kind == PostOpKind::kClip && homogeneous(op->alpha) && homogeneous(op->beta));
}

std::int64_t inputChannels(const WeightedNode& layer) { return layer.weight.size(1) * layer.groups; }

Decline checkLayers(const EqualizedPair& pair) {
  if (pair.first.transposed || pair.second.transposed)
    return {reasons::kUnsupportedAttribute, "A transposed convolution is left alone."};
  if (pair.first.isLinear() != pair.second.isLinear() || pair.first.channels() != inputChannels(pair.second)) {
    return {reasons::kShapeMismatch, "The channels of the two layers do not correspond."};
  }
  if (pair.first.weight.scalar_type() != pair.second.weight.scalar_type())
    return {reasons::kUnsupportedDtype, "The two layers have weights of different types."};
  const bool finite =
      pair.first.weight.isfinite().all().item<bool>() && pair.second.weight.isfinite().all().item<bool>();
  if (!finite) return {reasons::kUnsupportedAttribute, "Weights hold NaN or infinity."};
  return {};
}

// Finds the layer before `second` and the nodes between them. False if there is none or if it declined with a remark.
bool findPair(Node* second, PassContext& context, EqualizedPair* pair) {
  const Node* user = second;
  Value* value = second->input(0);
  Decline why;
  while (!isWeightedNode(value->node())) {
    Node* node = value->node();
    if (!readUnaryPostOp(node)) return false;
    if (!letsFactorsThrough(node))
      why = {reasons::kUnsupportedOperator, "What lies between the layers does not let factors through."};
    if (!why) why = checkOnlyUse(node, user);
    pair->between.push_back(node);
    user = node;
    value = node->input(0);
  }
  if (!why) why = checkOnlyUse(value->node(), user);
  if (!why) why = readWeightedNode(value->node(), context, pair->first);
  if (!why) why = readWeightedNode(second, context, pair->second);
  if (!why) why = checkLayers(*pair);
  if (!why && context.mayBeWritten(second->input(0)))
    why = {reasons::kAliased, "The value between the layers may be written to."};
  if (why) context.missed(second, why);
  return !why;
}

ChannelRanges channelRanges(const WeightedNode& layer) {
  const at::Tensor weights = layer.weight.detach().to(at::kDouble).abs();
  ChannelRanges level;
  level.groups = layer.groups;
  level.ranges = weights.dim() > 2 ? weights.flatten(2).amax(2) : weights;
  level.out = at::ones({weights.size(0)}, at::kDouble);
  level.in = at::ones({inputChannels(layer)}, at::kDouble);
  return level;
}

void findFactors(std::vector<EqualizedPair>* pairs) {
  std::unordered_map<const Node*, ChannelRanges> levels;
  for (const EqualizedPair& pair : *pairs) {
    levels.emplace(pair.first.node, channelRanges(pair.first));
    levels.emplace(pair.second.node, channelRanges(pair.second));
  }
  double moved = 1;
  for (int sweep = 0; sweep < kSweeps && moved > kLevel; ++sweep) {
    moved = 0;
    for (const EqualizedPair& pair : *pairs) {
      ChannelRanges &first = levels.at(pair.first.node), &second = levels.at(pair.second.node);
      const at::Tensor before = first.perOutput(), after = second.perInput();
      const at::Tensor usable = (before > kNoRange).logical_and(after > kNoRange);
      const at::Tensor wanted =
          at::where(usable, (before / after.clamp_min(kNoRange)).sqrt(), at::ones_like(before)) * first.out;
      const at::Tensor factors = wanted.clamp(1 / kLargestFactor, kLargestFactor);
      moved = std::max(moved, (factors / first.out).log().abs().max().item<double>());
      first.out = factors;
      second.in = factors;
    }
  }
  for (EqualizedPair& pair : *pairs) pair.factors = levels.at(pair.first.node).out;
}

// Ratio of the widest channel's range to the narrowest one's.
double spreadOf(const WeightedNode& layer) {
  const at::Tensor ranges = layer.weight.detach().to(at::kDouble).abs().flatten(1).amax(1);
  const at::Tensor some = ranges.masked_select(ranges > kNoRange);
  return some.numel() == 0 ? 1 : some.max().item<double>() / some.min().item<double>();
}

void setConstant(Rewriter& rewriter, Node* node, std::size_t index, const at::Tensor& value, at::ScalarType dtype) {
  rewriter.replaceInput(node, index, rewriter.constant(value.to(dtype).contiguous(), node));
}

// Reads the layers again: a neighbouring pair may have changed one of them.
void rewritePair(EqualizedPair& pair, PassContext& context) {
  Rewriter& rewriter = context.rewriter;
  readWeightedNode(pair.first.node, context, pair.first);
  readWeightedNode(pair.second.node, context, pair.second);
  const double before = spreadOf(pair.first);
  const at::ScalarType dtype = pair.first.weight.scalar_type();
  std::vector<std::int64_t> rows(static_cast<std::size_t>(pair.first.weight.dim()), 1);
  rows[0] = pair.factors.numel();
  const at::Tensor first = pair.first.weight.detach().to(at::kDouble) / pair.factors.reshape(rows);
  const at::Tensor& weight = pair.second.weight;
  const std::int64_t groups = pair.second.groups, columns = weight.size(1);
  std::vector<std::int64_t> sizes = weight.sizes().vec(), split{groups, 1, columns};
  split.resize(static_cast<std::size_t>(weight.dim()) + 1, 1);
  std::vector<std::int64_t> grouped = sizes;
  grouped[0] /= groups;
  grouped.insert(grouped.begin(), groups);
  const at::Tensor second =
      (weight.detach().to(at::kDouble).reshape(grouped) * pair.factors.reshape(split)).reshape(sizes);
  setConstant(rewriter, pair.first.node, 1, first, dtype);
  if (pair.first.bias)
    setConstant(rewriter, pair.first.node, 2, pair.first.bias->detach().to(at::kDouble) / pair.factors, dtype);
  setConstant(rewriter, pair.second.node, 1, second, dtype);
  readWeightedNode(pair.first.node, context, pair.first);
  // A convolution's channels are its result's axis 1, a linear layer's the last.
  std::vector<std::int64_t> result(pair.first.isLinear() ? 1 : static_cast<std::size_t>(weight.dim()) - 1, 1);
  result[0] = pair.factors.numel();
  const at::Tensor divisors = pair.factors.to(at::kFloat).reshape(result);
  pair.between.push_back(pair.first.node);
  for (const Node* node : pair.between) {
    for (const OriginId id : rewriter.origins().of(node)) rewriter.origins().setDivisors(id, divisors);
  }
  rewriter.finish(pair.first.node, fmt::format("levelled {} channels with the layer that reads them: the widest "
                                               "reached {:.1f} times as far as the narrowest, now {:.1f}",
                                               pair.factors.numel(), before, spreadOf(pair.first)));
}

bool wantsEqualization(const OptimizeOptions& options) {
  if (options.calibrate) return options.equalize;
  return options.precision == Precision::kInt8 && !options.quantization_recipe.empty() &&
         recipeFromText(options.quantization_recipe).equalization;
}

bool equalizeLayers(torch::jit::Graph& graph, PassContext& context) {
  if (!wantsEqualization(context.options)) return false;
  at::NoGradGuard no_gradients;
  std::vector<EqualizedPair> pairs;
  for (Node* node : graph.nodes()) {
    EqualizedPair pair;
    if (isWeightedNode(node) && findPair(node, context, &pair)) pairs.push_back(std::move(pair));
  }
  findFactors(&pairs);
  bool changed = false;
  for (EqualizedPair& pair : pairs) {
    if (pair.factors.log().abs().max().item<double>() < kWorthwhile) continue;
    if (!context.rewriter.permit()) break;
    rewritePair(pair, context);
    changed = true;
  }
  return changed;
}

}  // namespace

const Pass kEqualizeLayers = {"equalize-layers", "Levels the ranges of channels between layers, for INT8.",
                              &equalizeLayers};

}  // namespace ipex_studio
