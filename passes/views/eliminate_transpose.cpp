// Removes transposes that undo each other, and makes one permutation of two.
//   before  %a = transpose(%x, 1, 2)   %b = transpose(%a, 2, 1)   %c = permute(%b, [0, 2, 1])
//           %d = permute(%c, [2, 0, 1])
//   after   %d = permute(%x, [1, 0, 2])
// Also t of t, permute by the identity, squeeze of an unsqueezed dimension.
// Declines: value-may-be-aliased-or-written. Silent where dimensions are not constant.
// Runs after fold-constants. Numerics: none changed; results are views of the same memory as before.
#include "core/graph/fused_op.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/aliasing.h"
#include "passes/match/permutation.h"
#include "passes/match/pieces.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::IValue;
using torch::jit::Node;
using torch::jit::Value;
namespace aten = torch::jit::aten;

namespace {

bool undoesUnsqueeze(const Node* node) {
  const Node* before = node->input(0)->node();
  if (node->kind() != aten::squeeze || node->inputs().size() != 2 || before->kind() != aten::unsqueeze) return false;
  const auto removed = readAxis(node->input(1), node->input(0));
  const auto added = readAxis(before->input(1), before->output());
  return removed && added && *removed == *added;
}

struct TransposeMatch {
  Value* source = nullptr;
  std::vector<Node*> consumed;
  Permutation order;  // empty: the source itself
};

std::optional<TransposeMatch> readPair(Node* node) {
  if (node->outputs().size() != 1 || node->inputs().empty()) return std::nullopt;
  Node* before = node->input(0)->node();
  if (undoesUnsqueeze(node)) return TransposeMatch{before->input(0), {node, before}, {}};
  const auto order = permutationOf(node);
  if (!order) return std::nullopt;
  if (isIdentityPermutation(*order)) return TransposeMatch{node->input(0), {node}, {}};
  if (before->inputs().empty() || before->outputs().size() != 1) return std::nullopt;
  const auto first = permutationOf(before);
  if (!first || first->size() != order->size()) return std::nullopt;
  TransposeMatch match{before->input(0), {node, before}, Permutation(order->size())};
  for (std::size_t i = 0; i < order->size(); ++i) {
    match.order[i] = (*first)[static_cast<std::size_t>((*order)[i])];
  }
  if (isIdentityPermutation(match.order)) match.order.clear();
  return match;
}

std::optional<TransposeMatch> matchTranspose(PassContext& context, Node* node, Decline* why) {
  auto match = readPair(node);
  if (match) *why = checkSameValue(context, node->output(), match->source, true);
  return match;
}

void rewriteTranspose(Rewriter& rewriter, Node* node, const TransposeMatch& match) {
  Value* to = match.source;
  if (!match.order.empty()) {
    Node* permute =
        rewriter.create("aten::permute", {match.source, rewriter.constant(IValue(match.order), node)}, node);
    permute->output()->setType(node->output()->type());
    to = permute->output();
  }
  rewriter.replace(match.consumed, node->output(), to, "two permutations became one or none");
}

bool eliminateTranspose(Graph& graph, PassContext& context) {
  // A node made for a pair of permutations may be half of the next pair: those come later and see it as their operand.
  return rewriteMatches(context, context.nodes({"aten::permute", "aten::transpose", "aten::t", "aten::squeeze"}),
                        matchTranspose, rewriteTranspose);
}

}  // namespace

const Pass kEliminateTranspose = {"eliminate-transpose",
                                  "Removes transposes that undo each other.",
                                  &eliminateTranspose,
                                  {"aten::permute", "aten::transpose", "aten::t", "aten::unsqueeze"}};

}  // namespace ipex_studio
