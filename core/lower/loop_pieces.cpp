#include "core/lower/loop_pieces.h"

#include <algorithm>

#include "core/graph/node_facts.h"
#include "core/lower/loop_facts.h"

namespace ipex_studio {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Use;
using torch::jit::Value;

namespace {

// True for views of what the body writes to that only the write reads.
bool isWriteView(const Node* node) {
  if (!isKind(node, "aten::select") && !isKind(node, "aten::slice")) return false;
  if (node->output()->uses().size() != 1) return false;
  const Use& use = node->output()->uses()[0];
  if (use.offset != 0 || use.user->owningBlock() != node->owningBlock()) return false;
  return isKind(use.user, "aten::copy_") || isWriteView(use.user);
}

// True if the value is the number of the round, or counted by it.
bool isRound(const Value* value, const Block* body) {
  if (isKind(value->node(), "aten::__derive_index")) value = value->node()->input(0);
  return value == body->inputs()[0];
}

}  // namespace

std::optional<LoopPieces> piecesOfLoop(Node* loop, const std::function<bool(const Node*)>& goes_inside) {
  Block* body = loop->blocks()[0];
  if (!carriesTensorsForAllRounds(loop)) return std::nullopt;
  LoopPieces pieces;
  std::vector<const Node*> hoisted;
  const auto is_outside = [&](const Value* value) {
    const Node* node = value->node();
    return std::find(hoisted.begin(), hoisted.end(), node) != hoisted.end() ||
           (!isInside(node, body) && node != body->param_node());
  };
  bool computes = false;
  for (Node* node : body->nodes()) {
    if (node->kind() == c10::prim::Constant || isKind(node, "aten::__derive_index")) continue;
    const auto inputs = node->inputs();
    const bool reads_round =
        std::any_of(inputs.begin(), inputs.end(), [&](const Value* input) { return isRound(input, body); });
    if (isKind(node, "aten::append") || isKind(node, "aten::copy_") || isWriteView(node)) {
      pieces.collectors.push_back(node);
    } else if (isKind(node, "aten::select") && is_outside(node->input(0)) &&
               (reads_round ? isRound(node->input(2), body) : isSliceOfRound(node))) {
      pieces.slices.push_back(node);
      if (!reads_round) hoisted.push_back(node);
    } else if (reads_round || !goes_inside(node)) {
      return std::nullopt;
    } else {
      computes = true;
    }
  }
  const auto is_computed = [&](const Value* value) {
    const Node* node = value->node();
    return node->owningBlock() == body && node != body->param_node() &&
           std::find(pieces.slices.begin(), pieces.slices.end(), node) == pieces.slices.end();
  };
  const auto carried = body->outputs().slice(1);
  const auto is_collected = [&](const Node* node) {
    if (isWriteView(node)) return true;
    const Value* value = node->input(1);
    if (!is_computed(value) && (value->node() != body->param_node() || value->offset() == 0)) return false;
    if (isKind(node, "aten::copy_")) {
      const Value* written = node->input(0);
      while (isWriteView(written->node()) && written->node()->owningBlock() == body)
        written = written->node()->input(0);
      return isWrittenFor(written, loop);
    }
    const auto& uses = node->input(0)->uses();
    return isNewList(node->input(0)->node(), loop) && std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
             return use.user == node || joinsBehind(use.user, loop);
           });
  };
  const bool fits = computes && std::all_of(carried.begin(), carried.end(), is_computed) &&
                    std::all_of(pieces.collectors.begin(), pieces.collectors.end(), is_collected);
  return fits ? std::optional<LoopPieces>(std::move(pieces)) : std::nullopt;
}

}  // namespace ipex_studio
