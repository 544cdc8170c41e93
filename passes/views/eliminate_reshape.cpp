// Reshapes once instead of several times in a row.
//   before  %a = transpose(%x, 1, 2)   %b = contiguous(%a)   %c = view(%b, [2, -1])   %d = reshape(%c, [-1, 8])
//   after   %a = transpose(%x, 1, 2)   %d = reshape(%a, [-1, 8])
// The last view or reshape decides; before it go view, reshape, flatten, unsqueeze, squeeze, contiguous. A view becomes
// a reshape, which copies where the strides need it: as contiguous did.
// Declines: value-may-be-aliased-or-written, value-is-graph-output (a copy that leaves the graph).
// Runs after eliminate-identity. Numerics: none changed.
#include <algorithm>
#include "core/graph/fused_op.h"

#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/aliasing.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
namespace aten = torch::jit::aten;

namespace {

struct ReshapeMatch {
  Value* source = nullptr;
  std::vector<Node*> consumed;  // from the last reshape upwards
};

// Keeps the elements in their order, whatever shape it gives them.
bool keepsOrder(const Node* node) {
  const auto kind = node->kind();
  if (kind == aten::contiguous) {
    return constantInt(node->input(1)) == static_cast<std::int64_t>(at::MemoryFormat::Contiguous);
  }
  return isReshape(node) || kind == aten::unsqueeze || kind == aten::squeeze ||
         (kind == aten::flatten && node->inputs().size() == 3);
}

std::optional<ReshapeMatch> matchReshape(PassContext& context, Node* node, Decline* why) {
  if (!isReshape(node)) return std::nullopt;
  ReshapeMatch match{node->input(0), {node}};
  const auto& uses = node->output()->uses();
  // Pairs lie side by side in memory, which is what the copy is there for.
  const bool as_complex =
      std::any_of(uses.begin(), uses.end(), [](const auto& use) { return isKind(use.user, "aten::view_as_complex"); });
  while (keepsOrder(match.source->node()) && !(as_complex && match.source->node()->kind() == aten::contiguous)) {
    match.consumed.push_back(match.source->node());
    match.source = match.source->node()->input(0);
  }
  if (match.consumed.size() == 1) return std::nullopt;
  // The size list may have been read off a tensor in between; that tensor then stays for it.
  *why = checkSameValue(context, node->output(), match.source, false);
  return match;
}

void rewriteReshape(Rewriter& rewriter, Node* node, const ReshapeMatch& match) {
  Node* reshape = rewriter.create("aten::reshape", {match.source, node->input(1)}, node);
  reshape->output()->setType(node->output()->type());
  rewriter.replace(match.consumed, node->output(), reshape->output(), "reshaped once");
}

bool eliminateReshape(Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes(kEliminateReshape.needs), matchReshape, rewriteReshape);
}

}  // namespace

const Pass kEliminateReshape = {"eliminate-reshape",
                                "Reshapes once instead of several times in a row.",
                                &eliminateReshape,
                                {"aten::view", "aten::reshape"}};

}  // namespace ipex_studio
