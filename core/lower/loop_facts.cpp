#include "core/lower/loop_facts.h"

#include <algorithm>

#include "core/graph/fresh_values.h"
#include "core/graph/node_facts.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Use;
using torch::jit::Value;

namespace {

bool isTrue(const Value* value) {
  const auto constant = torch::jit::toIValue(value);
  return constant && constant->isBool() && constant->toBool();
}

bool isTensor(const Value* value) { return value->type()->kind() == c10::TypeKind::TensorType; }

std::optional<std::size_t> rankOf(const Value* value) {
  const auto type = value->type()->cast<c10::TensorType>();
  if (!type || !type->dim()) return std::nullopt;
  return *type->dim();
}

bool asksForSizes(const Node* node) {
  return isKind(node, "aten::size") || isKind(node, "aten::dim") || isKind(node, "aten::len") ||
         isKind(node, "prim::dtype") || isKind(node, "prim::device");
}

}  // namespace

bool carriesTensorsForAllRounds(const Node* loop) {
  const auto carried = loop->inputs().slice(2);
  return isTrue(loop->input(1)) && isTrue(loop->blocks()[0]->outputs()[0]) &&
         std::all_of(carried.begin(), carried.end(), isTensor);
}

std::optional<std::int64_t> axisOf(const Value* axis, const Value* tensor, std::int64_t more) {
  auto number = constantInt(axis);
  if (!number || *number >= 0) return number;
  const auto rank = rankOf(tensor);
  if (!rank) return std::nullopt;
  *number += static_cast<std::int64_t>(*rank) + more;
  return *number >= 0 ? number : std::nullopt;
}

bool isSliceOfRound(const Node* select) {
  if (!isKind(select, "aten::select")) return false;
  const Node* counter = select->input(2)->node();
  if (counter->kind() != c10::prim::Param || select->input(2)->offset() != 0) return false;
  const Node* loop = counter->owningBlock()->owningNode();
  if (loop == nullptr || loop->kind() != c10::prim::Loop) return false;
  const Node* rounds = loop->input(0)->node();
  return isKind(rounds, "aten::size") && rounds->inputs().size() == 2 && rounds->input(0) == select->input(0) &&
         axisOf(rounds->input(1), select->input(0)) == axisOf(select->input(1), select->input(0)) &&
         axisOf(select->input(1), select->input(0));
}

bool isNewList(const Node* list, const Node* loop) {
  return list->kind() == c10::prim::ListConstruct && list->inputs().empty() &&
         list->owningBlock() == loop->owningBlock();
}

bool joinsBehind(const Node* reader, const Node* loop) {
  return (isKind(reader, "aten::stack") || isKind(reader, "aten::cat")) &&
         reader->owningBlock() == loop->owningBlock() && loop->isBefore(reader);
}

bool isWrittenFor(const Value* written, const Node* loop) {
  if (written->node()->owningBlock() != loop->owningBlock() || !isFresh(written)) return false;
  return std::all_of(written->uses().begin(), written->uses().end(), [&](const Use& use) {
    const Node* ancestor = ancestorIn(use.user, loop->owningBlock());
    return ancestor == loop || ancestor == loop->owningBlock()->return_node() || !ancestor->isBefore(loop) ||
           asksForSizes(use.user);
  });
}

}  // namespace ipex_studio
