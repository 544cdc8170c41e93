// Walks back from the operators that read strides to where their operands get them.
#include "core/graph/strides.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_set>

#include "core/graph/origins.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

bool isRowMajor(const Value* value) {
  const auto* type = value->type()->castRaw<c10::TensorType>();
  if (type == nullptr) return false;
  const auto sizes = type->sizes().concrete_sizes(), strides = type->strides().concrete_sizes();
  if (!sizes || !strides || sizes->size() != strides->size()) return false;
  std::int64_t expected = 1;
  for (std::size_t axis = sizes->size(); axis-- > 0;) {
    if ((*sizes)[axis] != 1 && (*strides)[axis] != expected) return false;
    expected *= (*sizes)[axis];
  }
  return true;
}

bool isList(const Node* node) {
  const auto kind = node->kind();
  return kind == c10::prim::ListConstruct || kind == c10::prim::ListUnpack || kind == c10::prim::TupleConstruct ||
         kind == c10::prim::TupleUnpack || kind == c10::aten::__getitem__;
}

// True if a result may be memory of an operand, seen otherwise.
bool mayBeView(const Node* node) {
  if (isList(node)) return true;
  if (!node->kind().is_aten()) return false;
  const auto* schema = node->maybeSchema();
  return schema != nullptr && std::any_of(schema->returns().begin(), schema->returns().end(),
                                          [](const c10::Argument& result) { return result.alias_info() != nullptr; });
}

bool holdsTensors(const Value* value) {
  return value->type()->isSubtypeOf(*c10::TensorType::get()) || value->type()->kind() == c10::TypeKind::ListType ||
         value->type()->kind() == c10::TypeKind::TupleType;
}

}  // namespace

bool readsStrides(c10::Symbol kind) {
  static const c10::Symbol kKinds[] = {c10::Symbol::fromQualString("aten::as_strided"),
                                       c10::Symbol::fromQualString("aten::as_strided_copy"),
                                       c10::Symbol::fromQualString("aten::as_strided_scatter"),
                                       c10::Symbol::fromQualString("aten::as_strided_"),
                                       c10::Symbol::fromQualString("aten::stride"),
                                       c10::Symbol::fromQualString("aten::is_contiguous"),
                                       c10::Symbol::fromQualString("aten::storage_offset")};
  return std::find(std::begin(kKinds), std::end(kKinds), kind) != std::end(kKinds);
}

NodeSet nodesWithShownStrides(const std::vector<Node*>& readers) {
  NodeSet found;
  std::vector<const Value*> open;
  std::unordered_set<const Value*> seen;
  const auto visit = [&](const Value* value) {
    if (holdsTensors(value) && seen.insert(value).second) open.push_back(value);
  };
  for (const Node* reader : readers) {
    if (!reader->inputs().empty()) visit(reader->input(0));
  }
  while (!open.empty()) {
    const Value* value = open.back();
    open.pop_back();
    const Node* node = value->node();
    if (!node->kind().is_aten() && !isList(node)) continue;
    if (!mayBeView(node) && isRowMajor(value)) continue;
    found.insert(node);
    for (const Value* input : node->inputs()) visit(input);
  }
  return found;
}

NodeSet nodesWithShownStrides(torch::jit::Graph& graph) {
  std::vector<Node*> readers;
  for (Node* node : allNodes(graph, true)) {
    if (readsStrides(node->kind())) readers.push_back(node);
  }
  return nodesWithShownStrides(readers);
}

}  // namespace ipex_studio
