#include "core/graph/region_levels.h"

#include <algorithm>
#include <limits>

#include "core/graph/fused_op.h"
#include "core/graph/reasons.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

bool hasEffects(const Node* node, const torch::jit::AliasDb& aliases) {
  if (node->hasSideEffects() || aliases.hasWriters(node)) {
    // hasWriters also says yes for readers of written memory: they must not move across the write either.
    return true;
  }
  return std::any_of(node->blocks().begin(), node->blocks().end(), [&](const torch::jit::Block* block) {
    return std::any_of(block->nodes().begin(), block->nodes().end(),
                       [&](const Node* inner) { return hasEffects(inner, aliases); });
  });
}

// Lists that only carry operands or sizes of a lowered node are read through, never lowered themselves.
bool isTransparent(const Node* node) {
  const std::string kind = node->kind().toQualString();
  return kind == "prim::ListConstruct" || kind == "prim::TupleConstruct" || kind == "aten::chunk" || kind == "aten::split" || kind == "aten::split_with_sizes" ||
         kind == "aten::unbind" || isSizeArithmetic(node);
}

// An optional argument that is there: callers give it or not, in this rank or in another that broadcasts.
bool isOptionalArgument(const Value* value) {
  const std::string kind = value->node()->kind().toQualString();
  return kind == "prim::unchecked_cast" || kind == "aten::_unwrap_optional" || kind == "prim::unchecked_unwrap_optional";
}

bool readsOptional(const LoweredNode& lowered) {
  return std::any_of(lowered.ops.begin(), lowered.ops.end(), [](const LoweredOp& op) {
    return std::any_of(op.src.begin(), op.src.end(), [](const LoweredOperand& operand) { return operand.value != nullptr && isOptionalArgument(operand.value); });
  });
}

}  // namespace

RegionLevels::RegionLevels(torch::jit::Graph& graph, torch::jit::Block& block)
    : aliases_(std::shared_ptr<torch::jit::Graph>(&graph, [](torch::jit::Graph*) {})) {
  for (Node* node : block.nodes()) {
    if (node->kind() != c10::prim::Constant) place(node);
  }
  sink();
}

int RegionLevels::inside(const Value* value) const {
  const Node* producer = value->node();
  if (producer->kind() == c10::prim::Constant || producer->kind() == c10::prim::Param) return 0;
  const auto found = index_.find(producer);
  if (found == index_.end()) return 0;
  const PlacedNode& placed = nodes_[found->second];
  if (placed.lowered) return placed.level;
  return isSizeArithmetic(producer) ? placed.inside_level : placed.level + 1;
}

int RegionLevels::outside(const Value* value) const {
  const auto found = index_.find(value->node());
  return found == index_.end() ? 0 : nodes_[found->second].level;
}

void RegionLevels::place(Node* node) {
  PlacedNode placed;
  placed.node = node;
  const bool effects = hasEffects(node, aliases_);
  placed.transparent = !effects && isTransparent(node);
  if (isSizeArithmetic(node)) {
    for (const Value* input : node->inputs()) placed.inside_level = std::max(placed.inside_level, inside(input));
  }
  if (!effects && !placed.transparent) {
    auto lowered = lowerNode(node);
    if (auto* ops = std::get_if<LoweredNode>(&lowered); ops != nullptr && readsOptional(*ops)) {
      declines_.emplace_back(node, LoweringDecline{reasons::kUnknownShape, "An optional argument may come in another rank."});
    } else if (ops != nullptr) {
      placed.lowered = true;
      placed.ops = std::move(*ops);
    } else {
      declines_.emplace_back(node, std::get<LoweringDecline>(lowered));
    }
  }
  if (placed.lowered) {
    placed.level = barrier_;
    for (const LoweredOp& op : placed.ops.ops) {
      for (const LoweredOperand& operand : op.src) {
        if (operand.value != nullptr) placed.level = std::max(placed.level, inside(operand.value));
      }
      for (const LoweredRef& ref : op.refs) placed.level = std::max(placed.level, inside(ref.value));
    }
  } else {
    const auto raise = [&](const Value* value) { placed.level = std::max(placed.level, outside(value)); };
    for (const Value* input : node->inputs()) raise(input);
    if (!node->blocks().empty()) {
      // Captured values: everything before this node may be read inside.
      placed.level = std::max(placed.level, highest_);
    }
    if (effects) {
      placed.level = std::max({placed.level, highest_, last_effect_});
      last_effect_ = placed.level;
      barrier_ = placed.level + 1;
    } else {
      placed.level = std::max(placed.level, barrier_ > 0 ? barrier_ - 1 : 0);
    }
  }
  highest_ = std::max(highest_, placed.level);
  index_[node] = nodes_.size();
  nodes_.push_back(std::move(placed));
}

// The first level that reads `value`, through whatever carries it; that of its own node where the interpreter, a block or
// the caller reads it too.
int RegionLevels::firstReader(const Value* value, int own_level) const {
  int first = std::numeric_limits<int>::max();
  std::vector<const Value*> open{value};
  while (!open.empty()) {
    const Value* const read = open.back();
    open.pop_back();
    for (const torch::jit::Use& use : read->uses()) {
      const auto found = index_.find(use.user);
      if (found == index_.end()) return own_level;
      const PlacedNode& reader = nodes_[found->second];
      if (reader.lowered) {
        first = std::min(first, reader.level);
      } else if (reader.transparent) {
        open.insert(open.end(), use.user->outputs().begin(), use.user->outputs().end());
      } else {
        return own_level;
      }
    }
  }
  return first == std::numeric_limits<int>::max() ? own_level : first;
}

// What only a later region reads moves there, so that it need not cross: views of the caller's tensors, which would be
// copied to cross, and whatever is computed from the caller's or the interpreter's values and from nothing else.
void RegionLevels::sink() {
  const auto stays = [&](const LoweredOperand& operand) {
    if (operand.value == nullptr) return false;
    const auto producer = index_.find(operand.value->node());
    if (producer == index_.end() || !nodes_[producer->second].lowered) return false;
    return operand.value->uses().size() > 1;
  };
  for (auto placed = nodes_.rbegin(); placed != nodes_.rend(); ++placed) {
    if (!placed->lowered) continue;
    const bool held = std::any_of(placed->ops.ops.begin(), placed->ops.ops.end(),
                                  [&](const LoweredOp& op) { return std::any_of(op.src.begin(), op.src.end(), stays); });
    if (held) continue;
    int level = std::numeric_limits<int>::max();
    for (const Value* output : placed->node->outputs()) level = std::min(level, firstReader(output, placed->level));
    if (!placed->node->outputs().empty()) placed->level = std::max(placed->level, level);
  }
}

}  // namespace ipex_studio
