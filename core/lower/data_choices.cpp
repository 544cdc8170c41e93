// Each function below reads one spelling of a choice by data.
#include "core/lower/data_choices.h"

#include <cstring>
#include <optional>
#include <string>

#include "core/graph/node_facts.h"
#include "core/graph/value_uses.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

namespace {

bool isKnownMask(const Value* value) {
  const auto sizes = knownSizes(value);
  return knownDtype(value) == at::kBool && sizes && !sizes->empty();
}

Node* insertBefore(Node* node, const char* kind, at::ArrayRef<Value*> inputs, std::size_t outputs) {
  Graph& graph = *node->owningGraph();
  return graph.create(c10::Symbol::fromQualString(kind), inputs, outputs)->insertBefore(node);
}

Value* constantBefore(Node* node, const torch::jit::IValue& value) {
  const torch::jit::WithInsertPoint here(node);
  return node->owningGraph()->insertConstant(value);
}

// Lets readers of the node's results read those of `made`.
Node* take(Node* node, Node* made) {
  for (std::size_t o = 0; o < node->outputs().size(); ++o) {
    made->output(o)->setType(node->output(o)->type());
    replaceUses(node->output(o), made->output(o));
  }
  return made;
}

// aten::index(x, [None …, mask])
Node* takeMaskIndex(Node* node) {
  const auto indices = decidedElements(node->input(1));
  if (!indices || indices->empty() || !knownSizes(node->input(0))) return nullptr;
  std::int64_t axis = -1;
  for (std::size_t i = 0; i < indices->size(); ++i) {
    if (isNone((*indices)[i])) continue;
    if (axis >= 0 || !isKnownMask((*indices)[i])) return nullptr;
    axis = static_cast<std::int64_t>(i);
  }
  if (axis < 0) return nullptr;
  Value* mask = node->input(1)->node()->input(static_cast<std::size_t>(axis));
  return take(node,
              insertBefore(node, "ipex_studio::masked_rows", {node->input(0), mask, constantBefore(node, axis)}, 1));
}

// aten::masked_select(x, mask)
Node* takeMaskedSelect(Node* node) {
  if (!isKnownMask(node->input(1)) || knownSizes(node->input(0)) != knownSizes(node->input(1))) return nullptr;
  return take(node, insertBefore(node, "ipex_studio::masked_rows",
                                 {node->input(0), node->input(1), constantBefore(node, std::int64_t{-1})}, 1));
}

// aten::nonzero of a mask whose sizes are asked for by a reshape to one axis, or by an expansion before that; both are
// read by nothing else. Null: it is none.
Node* takeMaskPlaces(Node* node) {
  Node* reshape = node->input(0)->node();
  if (!isReshape(reshape) || node->input(0)->uses().size() != 1) return nullptr;
  Node* expand = reshape->input(0)->node();
  const bool may_repeat = isKind(expand, "aten::expand") && expand->output()->uses().size() == 1;
  if (may_repeat && constantInts(reshape->input(1)) != std::vector<std::int64_t>{-1}) return nullptr;
  Node* sized = may_repeat ? expand : reshape;
  const auto rank = knownSizes(sized->input(0)), sizes = knownSizes(sized->output());
  if (!isKnownMask(sized->input(0)) || rank->size() != sizes->size() || (!may_repeat && sizes->size() != 1))
    return nullptr;
  return take(node, insertBefore(node, "ipex_studio::mask_places",
                                 {sized->input(0), sized->input(1), constantBefore(node, may_repeat)}, 1));
}

// aten::nonzero(x) and aten::argwhere(x)
Node* takeNonzero(Node* node) {
  if (Node* made = takeMaskPlaces(node)) return made;
  return knownDtype(node->input(0)) ? take(node, insertBefore(node, "ipex_studio::nonzero", {node->input(0)}, 1))
                                    : nullptr;
}

// The number of rows of x that are not zero in the example, as a reader of one of the lines saw it.
std::optional<std::int64_t> exampleLength(const Value* lines) {
  for (const torch::jit::Use& use : lines->uses()) {
    const bool reads = isKind(use.user, "prim::ListUnpack") || isKind(use.user, "aten::__getitem__");
    const auto sizes = reads ? knownSizes(use.user->output(0)) : std::nullopt;
    if (sizes && sizes->size() == 1) return (*sizes)[0];
  }
  return std::nullopt;
}

// aten::_unique2(x, sorted, return_inverse, return_counts)
Node* takeUnique(Node* node) {
  const auto dtype = knownDtype(node->input(0));
  if ((dtype != at::kLong && dtype != at::kInt) || constantBool(node->input(1)) != true) return nullptr;
  return take(node, insertBefore(node, "ipex_studio::unique", {node->input(0), node->input(2), node->input(3)}, 3));
}

// aten::_nested_tensor_from_mask_left_aligned(x, mask): whether a batch can be packed
Node* takeLeftAligned(Node* node) {
  return take(node, insertBefore(node, "ipex_studio::left_aligned", {node->input(0), node->input(1)}, 1));
}

}  // namespace

Node* replaceDataChoice(Node* node) {
  if (isKind(node, "aten::index")) return takeMaskIndex(node);
  if (isKind(node, "aten::masked_select")) return takeMaskedSelect(node);
  if (isKind(node, "aten::nonzero") || isKind(node, "aten::argwhere")) return takeNonzero(node);
  if (isKind(node, "aten::_nested_tensor_from_mask_left_aligned")) return takeLeftAligned(node);
  return isKind(node, "aten::_unique2") ? takeUnique(node) : nullptr;
}

void splitNonzeroLines(Graph& graph, OriginTable& origins) {
  for (Node* node : allNodes(graph, true)) {
    if (node->inputs().size() != 1 || (!isKind(node, "aten::nonzero_numpy") && !isKind(node, "aten::where"))) continue;
    const auto sizes = knownSizes(node->input(0));
    const auto length = exampleLength(node->output());
    if (!knownDtype(node->input(0)) || !sizes || sizes->empty() || !length) continue;
    Node* places = insertBefore(node, "aten::nonzero", {node->input(0)}, 1);
    const auto rank = static_cast<std::int64_t>(sizes->size());
    places->output()->setType(c10::TensorType::createContiguous(at::kLong, at::kCPU, {*length, rank}));
    origins.set(places->output(), origins.of(node));
    take(node, insertBefore(node, "aten::unbind", {places->output(), constantBefore(node, std::int64_t{1})}, 1));
    node->destroy();
  }
}

bool isDataChoice(const Node* node) {
  return isKind(node, "ipex_studio::masked_rows") || isKind(node, "ipex_studio::mask_places") ||
         isKind(node, "ipex_studio::nonzero") || isKind(node, "ipex_studio::unique") ||
         isKind(node, "ipex_studio::left_aligned");
}

}  // namespace ipex_studio
