// Removes dropout in evaluation mode, and dropout of nothing.
//   before  %y = dropout(%x, %p, %train=False)   %z = relu(%y)
//   after   %z = relu(%x)
// No alias question arises: with train=False or p=0 the operator returns its very input.
// Declines: training-mode, operand-not-constant (the mode).
// Runs first, because the operator's schema hides that result and input are one tensor. Numerics: none changed.
#include "core/graph/fused_op.h"
#include "core/graph/rewrite_matches.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;

namespace {

bool isDropout(const Node* node) {
  static const std::vector<c10::Symbol> kinds = {c10::Symbol::fromQualString("aten::dropout"),
                                                 c10::Symbol::fromQualString("aten::dropout_"),
                                                 c10::Symbol::fromQualString("aten::feature_dropout"),
                                                 c10::Symbol::fromQualString("aten::feature_dropout_"),
                                                 c10::Symbol::fromQualString("aten::alpha_dropout"),
                                                 c10::Symbol::fromQualString("aten::alpha_dropout_"),
                                                 c10::Symbol::fromQualString("aten::feature_alpha_dropout"),
                                                 c10::Symbol::fromQualString("aten::feature_alpha_dropout_")};
  return std::find(kinds.begin(), kinds.end(), node->kind()) != kinds.end() && node->inputs().size() == 3;
}

bool matchDropout(PassContext&, Node* node, Decline* why) {
  if (!isDropout(node)) return false;
  const bool drops_nothing = constantNumber(node->input(1)) == 0.0;  // functional calls leave the mode at its default
  const auto train = drops_nothing ? std::optional<bool>(false) : constantBool(node->input(2));
  if (!train) *why = {reasons::kNotConstant, "The mode of this dropout is not known before the model runs."};
  if (train == true) *why = {reasons::kTrainingMode, "Dropout stays: the model was saved in training mode."};
  return true;
}

void rewriteDropout(Rewriter& rewriter, Node* node) {
  rewriter.replace({node}, node->output(), node->input(0), "removed dropout");
}

bool eliminateDropout(Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes(kEliminateDropout.needs), matchDropout, rewriteDropout);
}

}  // namespace

const Pass kEliminateDropout = {
    "eliminate-dropout",
    "Removes dropout in evaluation mode.",
    &eliminateDropout,
    {"aten::dropout", "aten::dropout_", "aten::feature_dropout", "aten::feature_dropout_", "aten::alpha_dropout",
     "aten::alpha_dropout_", "aten::feature_alpha_dropout", "aten::feature_alpha_dropout_"}};

}  // namespace ipex_studio
