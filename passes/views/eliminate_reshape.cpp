// Reshapes once instead of several times in a row.
//   before  %a = transpose(%x, 1, 2)   %b = contiguous(%a)   %c = view(%b, [2, -1])   %d = reshape(%c, [-1, 8])
//   after   %a = transpose(%x, 1, 2)   %d = reshape(%a, [-1, 8])
// The last view or reshape decides; before it go view, reshape, flatten, unsqueeze, squeeze, contiguous. A view becomes a
// reshape, which copies where the strides need it: as contiguous did.
// Declines: value-may-be-aliased-or-written, value-is-graph-output (a copy that leaves the graph).
// Runs after eliminate-identity. Numerics: none changed.
#include "core/graph/fused_op.h"
#include "core/graph/node_facts.h"
#include "core/graph/pass.h"
#include "passes/match/aliasing.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
namespace aten = torch::jit::aten;

namespace {

// Keeps the elements in their order, whatever shape it gives them.
bool keepsOrder(const Node* node) {
  const auto kind = node->kind();
  if (kind == aten::contiguous) {
    return constantInt(node->input(1)) == static_cast<std::int64_t>(at::MemoryFormat::Contiguous);
  }
  return isReshape(node) || kind == aten::unsqueeze || kind == aten::squeeze ||
         (kind == aten::flatten && node->inputs().size() == 3);
}

bool eliminateReshape(Graph& graph, PassContext& context) {
  bool changed = false;
  Rewriter& rewriter = context.rewriter;
  for (Node* node : context.nodes(kEliminateReshape.needs)) {
    if (!rewriter.alive(node) || !isReshape(node)) continue;
    std::vector<Node*> consumed = {node};
    Value* source = node->input(0);
    while (keepsOrder(source->node())) {
      consumed.push_back(source->node());
      source = source->node()->input(0);
    }
    if (consumed.size() == 1) continue;
    // The size list may have been read off a tensor in between; that tensor then stays for it.
    if (const Decline why = checkSameValue(context, node->output(), source, false)) {
      context.missed(node, why);
      continue;
    }
    if (!rewriter.permit()) break;
    Node* reshape = rewriter.create("aten::reshape", {source, node->input(1)}, node);
    reshape->output()->setType(node->output()->type());
    rewriter.replace(consumed, node->output(), reshape->output(), "reshaped once");
    changed = true;
  }
  return changed;
}

}  // namespace

const Pass kEliminateReshape = {"eliminate-reshape",
                                "Reshapes once instead of several times in a row.",
                                &eliminateReshape,
                                {"aten::view", "aten::reshape"}};

}  // namespace ipex_studio
