// Writes lists that are filled element by element as lists of what they hold.
//   before  %l = prim::ListConstruct(%a)   %b = …   aten::append(%l, %b)   %all = aten::all(%l)
//   after   %b = …   %l' = prim::ListConstruct(%a, %b)   %all = aten::all(%l')
// Scripted comprehensions and loops that were unrolled leave such lists: of flags, sizes, tensors.
// A constant list, as libtorch makes one of constant indices, is written as a list of constants:
//   before  %l = prim::Constant[value=[None, <Tensor>]]()                      %y = aten::index(%x, %l)
//   after   %i = prim::Constant[value=<Tensor>]()   %l' = prim::ListConstruct(%none, %i)   %y = aten::index(%x, %l')
// Declines: value-may-be-aliased-or-written (read in between, or filled in another block). Runs before fold-constants,
// for which a list that is written to is none. Numerics: none.
#include <algorithm>
#include <vector>

#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::IValue;
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

std::optional<std::vector<Node*>> matchAppends(PassContext&, Node* list, Decline* why) {
  if (!isFilled(list)) return std::nullopt;
  auto appends = appendsTo(list->output());
  if (appends.empty()) *why = {reasons::kAliased, "The list is read while it is filled, or filled in another block."};
  return appends;
}

void rewriteAppends(Rewriter& rewriter, Node* list, const std::vector<Node*>& appends) {
  std::vector<Value*> elements = list->inputs().vec();
  for (const Node* append : appends) elements.push_back(append->input(1));
  Node* filled = rewriter.create("prim::ListConstruct", elements, appends.front());
  filled->moveAfter(appends.back());
  filled->output()->setType(list->output()->type());
  rewriter.replaceUsesAfter(filled, list->output(), filled->output());
  std::vector<Node*> consumed{list};
  consumed.insert(consumed.end(), appends.begin(), appends.end());
  rewriter.replaceAll(consumed, {}, {}, "lists what was appended");
}

// The indices of a node that reads them from a constant list.
std::optional<std::vector<IValue>> matchConstantIndices(PassContext&, const Node* node, Decline*) {
  const auto list = torch::jit::toIValue(node->input(1));
  return list && list->isList() ? std::make_optional(list->toListRef().vec()) : std::nullopt;
}

void rewriteConstantIndices(Rewriter& rewriter, Node* node, const std::vector<IValue>& indices) {
  std::vector<Value*> elements;
  for (const IValue& index : indices)
    elements.push_back(index.isNone() ? rewriter.none(node) : rewriter.constant(index, node));
  Node* list = rewriter.create("prim::ListConstruct", elements, node);
  list->output()->setType(node->input(1)->type());
  rewriter.replaceInput(node, 1, list->output());
  rewriter.finish(node, "wrote constant indices as a list");
}

bool canonicalizeLists(torch::jit::Graph& graph, PassContext& context) {
  bool changed = rewriteMatches(context, context.nodes({"prim::ListConstruct"}), matchAppends, rewriteAppends);
  changed |= rewriteMatches(context, context.nodes({"aten::index", "aten::index_put"}), matchConstantIndices,
                            rewriteConstantIndices);
  return changed;
}

}  // namespace

const Pass kCanonicalizeLists = {
    "canonicalize-lists",
    "Writes lists that are filled element by element, and constant indices, as lists of what they hold.",
    &canonicalizeLists,
    {"aten::append", "aten::index", "aten::index_put"}};

}  // namespace ipex_studio
