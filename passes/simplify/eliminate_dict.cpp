// Reads what is in a dictionary where it came from.
//   before  %d = aten::dict()   aten::_set_item(%d, "a", %x)   %v = aten::values(%d)   %y = aten::__getitem__(%d, "a")
//   after   %v = prim::ListConstruct(%x)   %x
// Detectors and segmentation models hand their levels of features on in dictionaries, and loop over the values: once
// these are a list in sight, the loops can be written out. Dictionaries that are made empty, of pairs in sight, or of
// keys and values, and filled in their own block under constant keys.
// Declines: nothing with a remark (a dictionary that is handed on, a key that is not constant). Runs before
// fold-constants, which runs it again. Numerics: none.
#include <algorithm>
#include <optional>
#include <vector>

#include "core/graph/node_facts.h"
#include "core/graph/pass.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::IValue;
using torch::jit::Node;
using torch::jit::Use;
using torch::jit::Value;

struct Entry {
  IValue key;
  Value* value = nullptr;
};
using Entries = std::vector<Entry>;

std::optional<IValue> constantKey(const Value* value) {
  const auto key = torch::jit::toIValue(value);
  const bool plain = key && (key->isString() || key->isInt() || key->isDouble() || key->isBool());
  return plain ? std::optional<IValue>(*key) : std::nullopt;
}

bool sameKey(const IValue& one, const IValue& other) { return one.tagKind() == other.tagKind() && one == other; }

Entries::iterator find(Entries& entries, const IValue& key) {
  return std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return sameKey(entry.key, key); });
}

// A key keeps the place of its first value.
void put(Entries& entries, const IValue& key, Value* value) {
  const auto found = find(entries, key);
  if (found == entries.end()) {
    entries.push_back({key, value});
  } else {
    found->value = value;
  }
}

// The pairs of keys and values that a node makes a dictionary of, one after the other; nullopt: not in sight.
std::optional<std::vector<Value*>> pairsOf(Node* node, PassContext& context) {
  if (isKind(node, "prim::DictConstruct") || node->inputs().empty()) return node->inputs().vec();
  Node* list = node->input(0)->node();
  if (node->inputs().size() != 1 || !isKind(list, "prim::ListConstruct") || context.mayBeWritten(list->output()))
    return std::nullopt;
  std::vector<Value*> pairs;
  for (Value* pair : list->inputs()) {
    if (!isKind(pair->node(), "prim::TupleConstruct") || pair->node()->inputs().size() != 2) return std::nullopt;
    pairs.insert(pairs.end(), pair->node()->inputs().begin(), pair->node()->inputs().end());
  }
  return pairs;
}

std::optional<Entries> entriesOf(Node* node, PassContext& context) {
  const auto pairs = pairsOf(node, context);
  if (!pairs) return std::nullopt;
  Entries entries;
  for (std::size_t p = 0; p + 1 < pairs->size(); p += 2) {
    const auto key = constantKey((*pairs)[p]);
    if (!key) return std::nullopt;
    put(entries, *key, (*pairs)[p + 1]);
  }
  return entries;
}

struct KnownDict {
  Entries made_of;
  std::vector<Node*> writes, reads;  // in order

  Entries at(const Node* reader) const {
    Entries entries = made_of;
    for (const Node* write : writes) {
      if (write->isBefore(reader)) put(entries, *constantKey(write->input(1)), write->input(2));
    }
    return entries;
  }
};

bool isRead(const Use& use) {
  static const char* const kKinds[] = {"aten::keys", "aten::values",       "aten::items",
                                       "aten::len",  "aten::__contains__", "aten::__getitem__"};
  return use.offset == 0 &&
         std::any_of(std::begin(kKinds), std::end(kKinds), [&](const char* kind) { return isKind(use.user, kind); });
}

// nullopt where anything else than known writes and reads holds the dictionary.
std::optional<KnownDict> knownDict(Node* node, PassContext& context) {
  KnownDict dict;
  for (const Use& use : node->output()->uses()) {
    if (isRead(use)) {
      dict.reads.push_back(use.user);
      continue;
    }
    const bool write = use.offset == 0 && isKind(use.user, "aten::_set_item") &&
                       use.user->owningBlock() == node->owningBlock() && constantKey(use.user->input(1));
    if (!write || use.user->input(2) == node->output()) return std::nullopt;
    dict.writes.push_back(use.user);
  }
  auto entries = entriesOf(node, context);
  if (!entries) return std::nullopt;
  dict.made_of = std::move(*entries);
  const auto before = [](const Node* a, const Node* b) { return a->isBefore(b); };
  std::sort(dict.writes.begin(), dict.writes.end(), before);
  std::sort(dict.reads.begin(), dict.reads.end(), before);
  return dict;
}

// A list of what `element` makes of the entries, in the place of `read`.
template <typename Element>
Value* listInPlaceOf(Node* read, const Entries& entries, Rewriter& rewriter, Element element) {
  std::vector<Value*> elements;
  for (const Entry& entry : entries) elements.push_back(element(entry));
  return rewriter.create("prim::ListConstruct", elements, read)->output()->setType(read->output()->type());
}

// The value that the read gives; null: not known.
Value* valueRead(Node* read, Entries entries, Rewriter& rewriter) {
  const bool by_key = isKind(read, "aten::__getitem__") || isKind(read, "aten::__contains__");
  const auto key = by_key ? constantKey(read->input(1)) : std::nullopt;
  if (by_key && !key) return nullptr;
  const auto found = by_key ? find(entries, *key) : entries.end();
  if (isKind(read, "aten::__getitem__") && found == entries.end()) return nullptr;
  if (!rewriter.permit(read)) return nullptr;
  if (isKind(read, "aten::__getitem__")) return found->value;
  if (isKind(read, "aten::__contains__")) return rewriter.constant(found != entries.end(), read);
  if (isKind(read, "aten::len")) return rewriter.constant(static_cast<std::int64_t>(entries.size()), read);
  if (isKind(read, "aten::values"))
    return listInPlaceOf(read, entries, rewriter, [](const Entry& entry) { return entry.value; });
  const auto keyOf = [&](const Entry& entry) { return rewriter.constant(entry.key, read); };
  if (isKind(read, "aten::keys")) return listInPlaceOf(read, entries, rewriter, keyOf);
  const c10::TypePtr pair_type = read->output()->type()->expect<c10::ListType>()->getElementType();
  return listInPlaceOf(read, entries, rewriter, [&](const Entry& entry) {
    return rewriter.create("prim::TupleConstruct", {keyOf(entry), entry.value}, read)->output()->setType(pair_type);
  });
}

bool eliminateReads(Node* node, const KnownDict& dict, PassContext& context) {
  std::size_t left = dict.reads.size();
  for (Node* read : dict.reads) {
    Value* value = valueRead(read, dict.at(read), context.rewriter);
    if (value == nullptr) continue;
    context.rewriter.replaceAll({read}, {read->output()}, {value}, "reads the entries themselves");
    --left;
  }
  if (left == 0 && dict.reads.size() + dict.writes.size() > 0 && context.rewriter.permit(node)) {
    std::vector<Node*> consumed{node};
    consumed.insert(consumed.end(), dict.writes.begin(), dict.writes.end());
    context.rewriter.replaceAll(consumed, {}, {}, "nothing reads the dictionary");
    return true;
  }
  return left < dict.reads.size();
}

bool eliminateDict(torch::jit::Graph&, PassContext& context) {
  bool changed = false;
  for (Node* node : context.nodes(kEliminateDict.needs)) {
    if (!context.rewriter.alive(node)) continue;
    const auto dict = knownDict(node, context);
    if (dict) changed |= eliminateReads(node, *dict, context);
  }
  return changed;
}

}  // namespace

const Pass kEliminateDict = {"eliminate-dict",
                             "Reads what is in a dictionary where it came from.",
                             &eliminateDict,
                             {"aten::dict", "prim::DictConstruct"}};

}  // namespace ipex_studio
