// rewriteMatches: the loop of a pass that looks for one pattern, node by node, and rewrites what it finds.
#pragma once

#include <type_traits>

#include "core/graph/pass.h"

namespace ipex_studio {

// Walks `nodes` (context.nodes() and its kin) in their order and rewrites each match; returns whether anything changed.
//
//   std::optional<Match> match(PassContext& context, torch::jit::Node* node, Decline* why)
//     nullopt: nothing to rewrite at this node. A reason in `why` leaves the node alone, too, and becomes a remark.
//   void rewrite(Rewriter& rewriter, torch::jit::Node* node, Match& match)
//     Makes the new nodes and ends exactly one rewrite: Rewriter::replace() or another function that ends one.
//
// Where the node says it all, `match` returns bool, and `rewrite` takes the node alone.
//
// Nodes that a rewrite before destroyed are left out; one made since may have the address of one, so `match` looks at
// the kind again. A match that the rewriter does not permit stays as it is; where it permits no more (--limit) the walk
// ends: no match is looked for behind that one.
template <typename MatchFunction, typename RewriteFunction>
bool rewriteMatches(PassContext& context, const NodeWalk& nodes, MatchFunction match, RewriteFunction rewrite) {
  bool changed = false;
  for (torch::jit::Node* node : nodes) {
    if (!context.rewriter.alive(node)) continue;
    Decline why;
    auto found = match(context, node, &why);
    if (why) context.missed(node, why);
    if (why || !found) continue;
    if (!context.rewriter.permit(node)) {
      if (context.rewriter.exhausted()) break;
      continue;
    }
    if constexpr (std::is_same_v<decltype(found), bool>) {
      rewrite(context.rewriter, node);
    } else {
      rewrite(context.rewriter, node, *found);
    }
    changed = true;
  }
  return changed;
}

}  // namespace ipex_studio
