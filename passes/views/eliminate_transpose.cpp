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
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::IValue;
using torch::jit::Node;
using torch::jit::Value;
namespace aten = torch::jit::aten;

namespace {

using Ints = std::vector<std::int64_t>;

// Counted from the front; nullopt for one counted from the end where the rank is not known.
std::optional<std::int64_t> dimension(const Value* value, const Value* of) {
  const auto number = constantInt(value);
  if (!number || *number >= 0) return number;
  const auto sizes = knownSizes(of);
  if (!sizes) return std::nullopt;
  return *number + static_cast<std::int64_t>(sizes->size());
}

// The permutation the node makes. Ranks come from the permutation itself or from the shape facts.
std::optional<Ints> permutationOf(const Node* node) {
  if (node->kind() == aten::permute) {
    auto order = constantInts(node->input(1));
    if (!order) return std::nullopt;
    for (auto& dim : *order) dim += dim < 0 ? static_cast<std::int64_t>(order->size()) : 0;
    return order;
  }
  const bool is_t = node->kind() == aten::t;
  if (!is_t && (node->kind() != aten::transpose || node->inputs().size() != 3)) return std::nullopt;
  const auto sizes = knownSizes(node->input(0));
  if (!sizes || (is_t && sizes->size() != 2)) return std::nullopt;
  Ints order(sizes->size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  const auto a = is_t ? std::optional<std::int64_t>(0) : dimension(node->input(1), node->input(0));
  const auto b = is_t ? std::optional<std::int64_t>(1) : dimension(node->input(2), node->input(0));
  if (!a || !b || *a < 0 || *b < 0 || *a >= static_cast<std::int64_t>(order.size()) ||
      *b >= static_cast<std::int64_t>(order.size())) {
    return std::nullopt;
  }
  std::swap(order[static_cast<std::size_t>(*a)], order[static_cast<std::size_t>(*b)]);
  return order;
}

bool isIdentity(const Ints& order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

bool undoesUnsqueeze(const Node* node) {
  const Node* before = node->input(0)->node();
  if (node->kind() != aten::squeeze || node->inputs().size() != 2 || before->kind() != aten::unsqueeze) return false;
  const auto removed = dimension(node->input(1), node->input(0));
  const auto added = dimension(before->input(1), before->output());
  return removed && added && *removed == *added;
}

struct TransposeMatch {
  Value* source = nullptr;
  std::vector<Node*> consumed;
  Ints order;  // empty: the source itself
};

std::optional<TransposeMatch> readPair(Node* node) {
  if (node->outputs().size() != 1 || node->inputs().empty()) return std::nullopt;
  Node* before = node->input(0)->node();
  if (undoesUnsqueeze(node)) return TransposeMatch{before->input(0), {node, before}, {}};
  const auto order = permutationOf(node);
  if (!order) return std::nullopt;
  if (isIdentity(*order)) return TransposeMatch{node->input(0), {node}, {}};
  if (before->inputs().empty() || before->outputs().size() != 1) return std::nullopt;
  const auto first = permutationOf(before);
  if (!first || first->size() != order->size()) return std::nullopt;
  TransposeMatch match{before->input(0), {node, before}, Ints(order->size())};
  for (std::size_t i = 0; i < order->size(); ++i) {
    match.order[i] = (*first)[static_cast<std::size_t>((*order)[i])];
  }
  if (isIdentity(match.order)) match.order.clear();
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
