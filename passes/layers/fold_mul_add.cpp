// Folds constant factors and addends, scalar or one per channel, into the constant weights of what feeds them.
//   before  %y = convolution(%x, W, b, …)   %z = mul(%y, s)   %t = add(%z, a, 1)
//   after   %t = convolution(%x, W·s, b·s + a, …)
// Convolution, transposed convolution, linear; add, sub, rsub, mul, div with a number or a constant tensor on either
// side (the constant only below in a division).
// Declines: weights-not-constant, producer-has-other-uses, value-is-graph-output, control-flow, operand-not-constant
// (alpha), mixed-dtype (the constant would widen the result), operand-broadcasts-result, unknown-shape, not finite.
// Silent where the other operand is not constant: that is a residual, which fusion takes.
// Runs after fold-batch-norm. Numerics: weights in float64, rounded once.
#include "core/graph/rewrite_matches.h"
#include "passes/match/weighted_node.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
namespace aten = torch::jit::aten;

namespace {

struct ArithmeticMatch {
  bool data_first = true;
  WeightedNode weighted;  // before it
  ChannelAffine affine;   // what it computes
};

bool isArithmetic(const Node* node) {
  const auto kind = node->kind();
  const std::size_t inputs = node->inputs().size();
  if (kind == aten::add || kind == aten::sub || kind == aten::rsub) return inputs == 3;
  return (kind == aten::mul || kind == aten::div) && inputs == 2;
}

// The constant as float64 of one element or one per channel.
Decline readConstant(const Value* value, const Value* data, const WeightedNode& weighted, at::Tensor& result) {
  const auto constant = torch::jit::toIValue(value);
  if (constant->isScalar()) {
    if (constant->toScalar().isComplex()) return {reasons::kUnsupportedDtype, "A complex constant is not folded."};
    result = at::scalar_tensor(constant->toScalar(), at::kDouble);
    return {};
  }
  const at::Tensor tensor = constant->toTensor().detach();
  const auto dtype = weighted.weight.scalar_type();
  const bool widens = tensor.dim() == 0 ? tensor.is_complex() : c10::promoteTypes(tensor.scalar_type(), dtype) != dtype;
  if (widens) return {reasons::kMixedDtype, "The constant has a wider dtype than the weights."};
  // Rank of the tensor that the constant is applied to: a convolution's follows from its weights.
  std::int64_t rank = weighted.weight.dim();
  if (weighted.isLinear()) {
    const auto sizes = knownSizes(data);
    if (!sizes && tensor.dim() > 1) return {reasons::kUnknownShape, "The rank of the linear's result is not known."};
    rank = sizes ? static_cast<std::int64_t>(sizes->size()) : 1;
  }
  if (tensor.dim() > rank) return {reasons::kBroadcast, "The constant has more dimensions than the result."};
  result = tensor.to(at::kDouble).reshape({-1});
  if (tensor.numel() == 1) return {};
  const std::int64_t from_end = weighted.isLinear() ? 1 : rank - 1;
  const std::int64_t axis = tensor.dim() - from_end;
  if (tensor.numel() != weighted.channels() || axis < 0 || tensor.size(axis) != weighted.channels()) {
    return {reasons::kBroadcast, "The constant is not one value per channel."};
  }
  return {};
}

Decline readChannelAffine(const Node* node, bool data_first, const at::Tensor& constant, ChannelAffine& affine) {
  const auto one = at::ones({}, at::kDouble);
  const auto zero = at::zeros({}, at::kDouble);
  if (node->kind() == aten::mul) {
    affine = {constant, zero};
  } else if (node->kind() == aten::div) {
    if (!data_first) return {reasons::kUnsupportedOperator, "The constant is divided by the result."};
    affine = {constant.reciprocal(), zero};
  } else {
    const auto alpha = constantNumber(node->input(2));
    if (!alpha) return {reasons::kNotConstant, "The factor of the addend is not constant."};
    const at::Tensor factor = at::scalar_tensor(*alpha, at::kDouble);
    // add: a + alpha·b, sub: a - alpha·b, rsub: b - alpha·a
    const bool is_rsub = node->kind() == aten::rsub;
    const at::Tensor first = is_rsub ? -factor : one;
    const at::Tensor second = is_rsub ? one : (node->kind() == aten::sub ? -factor : factor);
    affine = data_first ? ChannelAffine{first, second * constant} : ChannelAffine{second, first * constant};
  }
  return checkFinite(affine.scale, affine.shift);
}

bool isConstantOperand(const Value* value) {
  const auto constant = torch::jit::toIValue(value);
  return constant && (constant->isScalar() || (constant->isTensor() && constant->toTensor().defined()));
}

Decline whyNot(PassContext& context, Node* node, ArithmeticMatch* match) {
  Value* data = node->input(match->data_first ? 0 : 1);
  const Value* operand = node->input(match->data_first ? 1 : 0);
  at::Tensor constant;
  Decline why = checkOnlyUse(data->node(), node);
  if (!why) why = readWeightedNode(data->node(), context, match->weighted);
  if (!why) why = readConstant(operand, data, match->weighted, constant);
  if (!why) why = readChannelAffine(node, match->data_first, constant, match->affine);
  if (!why && context.mayBeWritten(operand)) why = {reasons::kAliased, "The graph writes to the constant."};
  return why;
}

std::optional<ArithmeticMatch> matchArithmetic(PassContext& context, Node* node, Decline* why) {
  if (!isArithmetic(node)) return std::nullopt;
  const bool data_first = isWeightedNode(node->input(0)->node());
  if (!data_first && !isWeightedNode(node->input(1)->node())) return std::nullopt;
  if (!isConstantOperand(node->input(data_first ? 1 : 0))) return std::nullopt;
  ArithmeticMatch match{data_first, {}, {}};
  *why = whyNot(context, node, &match);
  return match;
}

void rewriteArithmetic(Rewriter& rewriter, Node* node, const ArithmeticMatch& match) {
  foldAffine(match.weighted, node, match.affine.scale, match.affine.shift, rewriter,
             std::string("folded ") + node->kind().toUnqualString() + " into the weights");
}

bool foldMulAdd(Graph& graph, PassContext& context) {
  at::NoGradGuard no_gradients;
  return rewriteMatches(context, context.nodes({"aten::add", "aten::sub", "aten::rsub", "aten::mul", "aten::div"}),
                        matchArithmetic, rewriteArithmetic);
}

}  // namespace

const Pass kFoldMulAdd = {"fold-mul-add",
                          "Folds constant factors and addends into the weights before them.",
                          &foldMulAdd,
                          {"aten::convolution", "aten::linear"}};

}  // namespace ipex_studio
