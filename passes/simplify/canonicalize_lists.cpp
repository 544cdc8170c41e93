// Writes lists that are filled element by element as lists of what they hold.
//   before  %l = prim::ListConstruct(%a)   %b = …   aten::append(%l, %b)   %all = aten::all(%l)
//   after   %b = …   %l' = prim::ListConstruct(%a, %b)   %all = aten::all(%l')
// Scripted comprehensions and loops that were unrolled leave such lists: of flags, sizes, tensors. What reads an
// element or the length in between reads a list of what was there by then; aten::insert puts an element
// elsewhere, aten::extend puts several.
// A constant list, as libtorch makes one of constant indices, is written as a list of constants:
//   before  %l = prim::Constant[value=[None, <Tensor>]]()                      %y = aten::index(%x, %l)
//   after   %i = prim::Constant[value=<Tensor>]()   %l' = prim::ListConstruct(%none, %i)   %y = aten::index(%x, %l')
// A list that repeats another, or joins two, is written as one, too:
//   before  %l = prim::ListConstruct(%a)   %m = aten::mul(%l, 2)        after  %m = prim::ListConstruct(%a, %a)
// Declines: value-may-be-aliased-or-written (handed on in between, or filled in another block). Runs before
// fold-constants, for which a list that is written to is none, and which runs it again. Numerics: none.
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

// True for a node that changes the entries of the list that it gets first.
bool isWrite(const Use& use) {
  return use.offset == 0 && (isKind(use.user, "aten::append") || isKind(use.user, "aten::insert"));
}

// True for a node that reads a list and keeps no hold of it.
bool onlyReads(const Node* node) {
  static const char* const kKinds[] = {"aten::__getitem__", "aten::len", "aten::list", "aten::cat", "aten::stack"};
  return std::any_of(std::begin(kKinds), std::end(kKinds), [&](const char* kind) { return isKind(node, kind); });
}

// A list with the nodes that fill it, first to last, and those that read it in between.
struct Filled {
  std::vector<Node*> writes;
  std::vector<Use> between;
};

bool before(const Node* a, const Node* b) { return a->isBefore(b); }

// Adds the element that a write adds; false where its place is not known.
bool apply(const Node* write, std::vector<Value*>* elements) {
  if (isKind(write, "aten::append")) {
    elements->push_back(write->input(1));
    return true;
  }
  const auto place = constantInt(write->input(1));
  if (!place) return false;
  const auto count = static_cast<std::int64_t>(elements->size());
  const std::int64_t at = std::clamp<std::int64_t>(*place < 0 ? *place + count : *place, 0, count);
  elements->insert(elements->begin() + at, write->input(2));
  return true;
}

// What the list holds where `reader` runs.
std::vector<Value*> elementsAt(Node* list, const std::vector<Node*>& writes, const Node* reader) {
  std::vector<Value*> elements = list->inputs().vec();
  for (const Node* write : writes) {
    if (write->isBefore(reader)) apply(write, &elements);
  }
  return elements;
}

std::optional<Filled> matchFilled(PassContext&, Node* list, Decline* why) {
  const auto& uses = list->output()->uses();
  if (std::none_of(uses.begin(), uses.end(), isWrite)) return std::nullopt;
  Filled filled;
  std::vector<Value*> elements = list->inputs().vec();
  for (const Use& use : uses) {
    if (isWrite(use)) filled.writes.push_back(use.user);
  }
  std::sort(filled.writes.begin(), filled.writes.end(), before);
  const auto apart = [&](const Node* write) {
    const auto inputs = write->inputs();
    return write->owningBlock() != list->owningBlock() || write->hasUses() ||
           std::count(inputs.begin(), inputs.end(), list->output()) > 1 || !apply(write, &elements);
  };
  bool known = std::none_of(filled.writes.begin(), filled.writes.end(), apart);
  for (const Use& use : uses) {
    if (isWrite(use) || !use.user->isBefore(filled.writes.back())) continue;
    filled.between.push_back(use);
    known = known && onlyReads(use.user);
  }
  if (!known) {
    *why = {reasons::kAliased, "The list is handed on while it is filled, or filled in another block."};
    return std::nullopt;
  }
  return filled;
}

void rewriteFilled(Rewriter& rewriter, Node* list, const Filled& filled) {
  const auto listOf = [&](const std::vector<Value*>& elements, Node* place) {
    Node* made = rewriter.create("prim::ListConstruct", elements, place);
    made->output()->setType(list->output()->type());
    return made;
  };
  for (const Use& use : filled.between) {
    rewriter.replaceInput(use.user, use.offset, listOf(elementsAt(list, filled.writes, use.user), use.user)->output());
  }
  std::vector<Value*> elements = list->inputs().vec();
  for (const Node* write : filled.writes) apply(write, &elements);
  Node* all = listOf(elements, filled.writes.front());
  all->moveAfter(filled.writes.back());
  rewriter.replaceUsesAfter(all, list->output(), all->output());
  std::vector<Node*> consumed{list};
  consumed.insert(consumed.end(), filled.writes.begin(), filled.writes.end());
  rewriter.replaceAll(consumed, {}, {}, "lists what was appended");
}

// What a list is extended by: the elements of a list that is made for that alone, or constants.
struct Extension {
  std::vector<Value*> made;
  std::vector<IValue> constant;
};

std::optional<Extension> matchExtension(PassContext&, const Node* extend, Decline*) {
  Value* more = const_cast<Node*>(extend)->input(1);
  if (isKind(more->node(), "prim::ListConstruct") && more->uses().size() == 1)
    return Extension{more->node()->inputs().vec(), {}};
  const auto constant = torch::jit::toIValue(more);
  if (!constant || !constant->isList()) return std::nullopt;
  return Extension{{}, constant->toListRef().vec()};
}

void rewriteExtension(Rewriter& rewriter, Node* extend, const Extension& extension) {
  std::vector<Value*> elements = extension.made;
  for (const IValue& element : extension.constant) elements.push_back(rewriter.constant(element, extend));
  for (Value* element : elements) {
    Node* append = rewriter.create("aten::append", {extend->input(0), element}, extend);
    append->output()->setType(extend->input(0)->type());
  }
  rewriter.replaceAll({extend->input(1)->node(), extend}, {}, {}, "appends one by one");
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

// The elements of a list that repeats another, or joins two.
std::optional<std::vector<Value*>> matchArithmetic(PassContext&, const Node* node, Decline*) {
  constexpr std::size_t kMaxElements = 256;
  if (node->output()->type()->kind() != c10::TypeKind::ListType) return std::nullopt;
  const auto first = decidedElements(node->input(0));
  if (!first) return std::nullopt;
  std::vector<Value*> elements;
  const auto append = [&](c10::ArrayRef<const Value*> more) {
    for (const Value* element : more) elements.push_back(const_cast<Value*>(element));
  };
  if (isKind(node, "aten::mul")) {
    const auto times = constantInt(node->input(1));
    if (!times || (*times > 0 && static_cast<std::size_t>(*times) * first->size() > kMaxElements)) return std::nullopt;
    for (std::int64_t i = 0; i < *times; ++i) append(*first);
  } else {
    const auto second = decidedElements(node->input(1));
    if (!second || first->size() + second->size() > kMaxElements) return std::nullopt;
    append(*first);
    append(*second);
  }
  return elements;
}

void rewriteArithmetic(Rewriter& rewriter, Node* node, const std::vector<Value*>& elements) {
  Node* list = rewriter.create("prim::ListConstruct", elements, node);
  list->output()->setType(node->output()->type());
  std::vector<Node*> consumed{node};
  for (Value* input : node->inputs()) consumed.push_back(input->node());
  rewriter.replace(consumed, node->output(), list->output(), "lists the elements of lists");
}

bool canonicalizeLists(torch::jit::Graph& graph, PassContext& context) {
  bool changed = rewriteMatches(context, context.nodes({"aten::extend"}), matchExtension, rewriteExtension);
  changed |= rewriteMatches(context, context.nodes({"prim::ListConstruct"}), matchFilled, rewriteFilled);
  changed |= rewriteMatches(context, context.nodes({"aten::mul", "aten::add"}), matchArithmetic, rewriteArithmetic);
  changed |= rewriteMatches(context, context.nodes({"aten::index", "aten::index_put"}), matchConstantIndices,
                            rewriteConstantIndices);
  return changed;
}

}  // namespace

const Pass kCanonicalizeLists = {
    "canonicalize-lists",
    "Writes lists that are filled element by element, and constant indices, as lists of what they hold.",
    &canonicalizeLists,
    {"aten::append", "aten::extend", "aten::insert", "aten::index", "aten::index_put", "aten::mul", "aten::add"}};

}  // namespace ipex_studio
