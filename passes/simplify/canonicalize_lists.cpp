// Writes lists that are filled element by element as lists of what they hold.
//   before  %l = prim::ListConstruct(%a)   %b = …   aten::append(%l, %b)   %all = aten::all(%l)
//   after   %b = …   %l' = prim::ListConstruct(%a, %b)   %all = aten::all(%l')
// Scripted comprehensions and loops that were unrolled leave such lists: of flags, sizes, tensors.
// Declines: value-may-be-aliased-or-written (read in between, or filled in another block). Runs before fold-constants, for
// which a list that is written to is none. Numerics: none.
#include <algorithm>
#include <vector>

#include "core/graph/node_facts.h"
#include "core/graph/pass.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Use;
using torch::jit::Value;

// The nodes that put one element at the list's end, first to last; empty where they are not all of its first readers.
std::vector<Node*> appendsTo(const Value* list) {
  std::vector<Node*> appends, others;
  for (const Use& use : list->uses())
    (isKind(use.user, "aten::append") && use.offset == 0 ? appends : others).push_back(use.user);
  const auto before = [](const Node* a, const Node* b) { return a->isBefore(b); };
  std::sort(appends.begin(), appends.end(), before);
  appends.erase(std::unique(appends.begin(), appends.end()), appends.end());
  const bool apart = std::any_of(appends.begin(), appends.end(), [&](const Node* append) {
    return append->owningBlock() != list->node()->owningBlock() || append->output()->hasUses() ||
           append->input(1) == list;
  });
  const bool read_between = !appends.empty() && std::any_of(others.begin(), others.end(), [&](const Node* other) {
    return other->isBefore(appends.back());
  });
  return apart || read_between ? std::vector<Node*>() : appends;
}

bool isFilled(const Node* list) {
  const auto& uses = list->output()->uses();
  return std::any_of(uses.begin(), uses.end(),
                     [](const Use& use) { return isKind(use.user, "aten::append") && use.offset == 0; });
}

bool canonicalizeLists(torch::jit::Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : context.nodes({"prim::ListConstruct"})) {
    if (!context.rewriter.alive(node) || !isFilled(node)) continue;
    const std::vector<Node*> appends = appendsTo(node->output());
    if (appends.empty()) {
      context.missed(node, reasons::kAliased, "The list is read while it is filled, or filled in another block.");
      continue;
    }
    if (!context.rewriter.permit()) break;
    std::vector<Value*> elements = node->inputs().vec();
    for (const Node* append : appends) elements.push_back(append->input(1));
    Node* list = context.rewriter.create("prim::ListConstruct", elements, appends.front());
    list->moveAfter(appends.back());
    list->output()->setType(node->output()->type());
    context.rewriter.replaceUsesAfter(list, node->output(), list->output());
    std::vector<Node*> consumed{node};
    consumed.insert(consumed.end(), appends.begin(), appends.end());
    context.rewriter.replaceAll(consumed, {}, {}, "lists what was appended");
    changed = true;
  }
  return changed;
}

}  // namespace

const Pass kCanonicalizeLists = {"canonicalize-lists",
                                 "Writes lists that are filled element by element as lists of what they hold.",
                                 &canonicalizeLists,
                                 {"aten::append"}};

}  // namespace ipex_studio
