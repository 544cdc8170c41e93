// Gives products with constant weights one form: aten::linear.
//   before  %y = addmm(%b, %x, %w, 1, 1)        after  %y = linear(%x, %w', %b)    w' = w transposed
//   before  %y = matmul(%x, %w)  (or mm)        after  %y = linear(%x, %w', None)
// The bias of a matmul follows in fold-mul-add, like any constant that is added to a linear.
// Declines: weights-not-constant and operand-not-constant (addmm only; a product of two activations is not a linear),
// unsupported-attribute (beta, alpha), shape-mismatch (bias that is no row), unsupported-dtype,
// value-may-be-aliased-or-written. Runs after fold-constants, which transposes constant weights. Numerics: the same
// sums, by another routine.
#include "core/graph/fused_op.h"
#include "core/graph/rewrite_matches.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::IValue;
using torch::jit::Node;
using torch::jit::Value;
namespace aten = torch::jit::aten;

namespace {

struct LinearMatch {
  Value* x = nullptr;
  Value* weight = nullptr;  // [K, N]
  Value* bias = nullptr;    // null: none
};

bool isProduct(const Node* node) {
  return (node->kind() == aten::matmul || node->kind() == aten::mm) && node->inputs().size() == 2;
}

Decline declineAddmm(const Node* node, const LinearMatch& match) {
  const auto beta = constantNumber(node->input(3));
  const auto alpha = constantNumber(node->input(4));
  if (beta != 1.0 || alpha != 1.0) return {reasons::kUnsupportedAttribute, "addmm scales its operands."};
  const auto weight = constantTensor(match.weight);
  if (!weight) return {reasons::kWeightsNotConstant, "The weights of this addmm are not constant."};
  const auto bias = constantTensor(match.bias);
  if (!bias) return {reasons::kNotConstant, "What this addmm adds is not constant."};
  if (bias->dim() == 0 || bias->numel() != weight->size(1) || bias->size(-1) != weight->size(1)) {
    return {reasons::kShapeMismatch, "What this addmm adds is not one row."};
  }
  return {};
}

Decline checkWeight(PassContext& context, const LinearMatch& match) {
  const auto weight = constantTensor(match.weight);
  if (!weight->is_floating_point() || !weight->device().is_cpu() || weight->layout() != at::kStrided) {
    return {reasons::kUnsupportedDtype, "Only dense floating-point weights become a linear."};
  }
  if (context.mayBeWritten(match.weight)) return {reasons::kAliased, "The graph writes to these weights."};
  return {};
}

std::optional<LinearMatch> matchLinear(PassContext& context, Node* node, Decline* why) {
  LinearMatch match;
  if (node->kind() == aten::addmm && node->inputs().size() == 5) {
    match = {node->input(1), node->input(2), node->input(0)};
    *why = declineAddmm(node, match);
  } else if (isProduct(node)) {
    match = {node->input(0), node->input(1), nullptr};
    const auto weight = constantTensor(match.weight);
    if (!weight || weight->dim() != 2 || constantTensor(match.x)) return std::nullopt;
  } else {
    return std::nullopt;
  }
  if (!*why) *why = checkWeight(context, match);
  return match;
}

void rewriteLinear(Rewriter& rewriter, Node* node, const LinearMatch& match) {
  at::NoGradGuard no_gradients;
  const at::Tensor weight = *constantTensor(match.weight);
  Value* transposed = rewriter.constant(weight.detach().t().contiguous(), node);
  Value* bias = match.bias != nullptr ? rewriter.constant(constantTensor(match.bias)->detach().reshape({-1}), node)
                                      : rewriter.none(node);
  Node* linear = rewriter.create("aten::linear", {match.x, transposed, bias}, node);
  linear->output()->setType(node->output()->type());
  rewriter.replace({node}, node->output(), linear->output(), "one form of linear");
}

bool canonicalizeLinear(Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes(kCanonicalizeLinear.needs), matchLinear, rewriteLinear);
}

}  // namespace

const Pass kCanonicalizeLinear = {"canonicalize-linear",
                                  "Gives products with constant weights one form.",
                                  &canonicalizeLinear,
                                  {"aten::addmm", "aten::matmul", "aten::mm"}};

}  // namespace ipex_studio
