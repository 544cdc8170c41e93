// The levels of nodes, and moving nodes into the regions that alone read them.
#include "core/lower/region_levels.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "core/graph/differentiated.h"
#include "core/graph/origins.h"
#include "core/graph/random_nodes.h"
#include "core/graph/reasons.h"
#include "core/graph/write_order.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

// Values in the place of a level.
constexpr int kNobody = std::numeric_limits<int>::max();
constexpr int kInterpreter = -1;

// True for an optional argument that is present: callers give it or not, in this rank or in another that broadcasts.
bool isOptionalArgument(const Value* value) {
  const auto kind = value->node()->kind();
  return kind == c10::prim::unchecked_cast || kind == c10::aten::_unwrap_optional ||
         kind == c10::prim::unchecked_unwrap_optional;
}

bool computes(const LoweredNode& lowered) {
  return std::any_of(lowered.ops.begin(), lowered.ops.end(), [](const LoweredOp& op) { return !isView(op.spec.kind); });
}

bool readsOptional(const LoweredNode& lowered) {
  return std::any_of(lowered.ops.begin(), lowered.ops.end(), [](const LoweredOp& op) {
    return std::any_of(op.src.begin(), op.src.end(), [](const LoweredOperand& operand) {
      return operand.value != nullptr && isOptionalArgument(operand.value);
    });
  });
}

// True for nodes that may stop the run or warn, but change nothing that others read: such a check may run before or
// after nodes that it does not depend on, but not before another check.
bool isCheck(const Node* node) { return node->kind() == c10::prim::RaiseException || node->kind() == c10::aten::warn; }

// True for a check and for a node in which one is nested.
bool holdsCheck(const Node* node) {
  if (isCheck(node)) return true;
  return std::any_of(node->blocks().begin(), node->blocks().end(), [](const torch::jit::Block* block) {
    return std::any_of(block->nodes().begin(), block->nodes().end(),
                       [](const Node* inner) { return holdsCheck(inner); });
  });
}

}  // namespace

bool carriesOperands(const Node* node) {
  static const c10::Symbol kKinds[] = {c10::prim::ListConstruct, c10::prim::TupleConstruct,   c10::aten::chunk,
                                       c10::aten::split,         c10::aten::split_with_sizes, c10::aten::unbind,
                                       c10::aten::meshgrid};
  return std::find(std::begin(kKinds), std::end(kKinds), node->kind()) != std::end(kKinds);
}

namespace {

class EffectFinder {
 public:
  explicit EffectFinder(torch::jit::Graph& graph)
      : graph_(graph), aliases_(sharedView(graph)), writes_(memoryWrites(graph, aliases_)) {}

  NodeEffects find() {
    for (Node* writer : writes_.writers) {
      if (!isCheck(writer)) addBarrier(writer);
    }
    for (Node* node : allNodes(graph_, true)) {
      if (found_.barriers.contains(node) || !node->blocks().empty()) continue;
      if (isKept(node)) found_.kept.insert(node);
      if (readsLaterWritten(node)) found_.pinned.insert(node);
    }
    return std::move(found_);
  }

 private:
  void addBarrier(const Node* node) {
    for (; node != nullptr && !found_.barriers.contains(node); node = node->owningBlock()->owningNode())
      found_.barriers.insert(node);
  }

  bool writtenAfter(const Value* value, const Node* node) const {
    return mayBeWrittenAfter(value, node, writes_, aliases_);
  }

  // A list of what is written names it, too; and sizes may be those of a tensor that a writer resizes.
  bool isKept(const Node* node) const {
    if (node->kind() == c10::prim::ListConstruct || node->kind() == c10::prim::TupleConstruct) return false;
    const bool carries = carriesOperands(node) || isSizeArithmetic(node);
    if (carries && aliases_.hasWriters(node)) return true;
    return std::any_of(node->outputs().begin(), node->outputs().end(), [&](const Value* output) {
      return isWritten(output, writes_, aliases_) && (writtenAfter(output, node) || isShown(output));
    });
  }

  // True for memory that leaves the graph, as a result or in an object.
  bool isShown(const Value* value) const {
    auto* shown = const_cast<Value*>(value);  // the analysis only reads
    return aliases_.mayContainAlias(shown, graph_.outputs()) ||
           std::any_of(writes_.writers.begin(), writes_.writers.end(), [&](Node* writer) {
             return storesOperands(writer) && aliases_.mayContainAlias(shown, writer->inputs().slice(1));
           });
  }

  // True for assignments to attributes and for what changes lists and dictionaries.
  static bool storesOperands(const Node* writer) {
    return writer->inputs().size() > 1 && writer->input(0)->type()->kind() != c10::TypeKind::TensorType;
  }

  bool readsLaterWritten(const Node* node) const {
    return std::any_of(node->inputs().begin(), node->inputs().end(), [&](const Value* input) {
      if (carriesOperands(input->node()) && input->node()->owningBlock() == node->owningBlock())
        return writtenThrough(input->node(), node);
      return writtenAfter(input, node);
    });
  }

  // True if what the list `carrier` collects is written to after `node`.
  bool writtenThrough(const Node* carrier, const Node* node) const {
    return std::any_of(carrier->inputs().begin(), carrier->inputs().end(),
                       [&](const Value* input) { return writtenAfter(input, node); });
  }

  torch::jit::Graph& graph_;
  const torch::jit::AliasDb aliases_;
  const MemoryWrites writes_;
  NodeEffects found_;
};

}  // namespace

NodeEffects effectsOf(torch::jit::Graph& graph) { return EffectFinder(graph).find(); }

RegionLevels::RegionLevels(torch::jit::Block& block, const NodeEffects& effects, const NodeSet& strided,
                           const std::function<bool(const Node*)>& left_out, int min_ops, int first)
    : first_(first), differentiated_(differentiatedNodes(*block.owningGraph())) {
  for (Node* node : block.nodes()) {
    if (node->kind() == c10::prim::Constant) continue;
    add(node, effects, strided.contains(node), left_out && left_out(node));
  }
  // A node that goes to the interpreter raises the levels of its readers, so all levels are computed anew. After the
  // last round small regions stay: they are right, too, and each round may leave out as little as one node.
  constexpr int kRounds = 8;
  for (int round = 0;; ++round) {
    assign();
    sink();
    if (!emptySmallLevels(min_ops, round < kRounds)) break;
  }
}

const PlacedNode* RegionLevels::producerOf(const Value* value) const {
  const std::size_t place = value->unique() < places_.size() ? places_[value->unique()] : 0;
  return place == 0 ? nullptr : &nodes_[place - 1];
}

std::optional<std::size_t> RegionLevels::placeOf(const Node* node) const {
  if (node->outputs().empty()) return std::nullopt;
  const PlacedNode* placed = producerOf(node->outputs()[0]);
  return placed == nullptr ? std::nullopt : std::optional<std::size_t>(placed - nodes_.data());
}

int RegionLevels::inside(const Value* value) const {
  const PlacedNode* placed = producerOf(value);
  if (placed == nullptr) return 0;
  if (placed->lowered) return placed->level;
  return placed->sizes ? placed->inside_level : placed->level + 1;
}

int RegionLevels::outside(const Value* value) const {
  const PlacedNode* placed = producerOf(value);
  return placed == nullptr ? 0 : placed->level;
}

// The level after which the interpreter can read all values that the blocks of `node` read.
int RegionLevels::captured(const Node* node) const {
  int level = 0;
  std::vector<const torch::jit::Block*> open(node->blocks().begin(), node->blocks().end());
  while (!open.empty()) {
    const torch::jit::Block* block = open.back();
    open.pop_back();
    for (const Value* output : block->outputs()) level = std::max(level, outside(output));
    for (const Node* inner : block->nodes()) {
      for (const Value* input : inner->inputs()) level = std::max(level, outside(input));
      open.insert(open.end(), inner->blocks().begin(), inner->blocks().end());
    }
  }
  return level;
}

void RegionLevels::add(Node* node, const NodeEffects& effects, bool strided, bool left_out) {
  PlacedNode placed;
  placed.node = node;
  placed.effects = effects.barriers.contains(node);
  placed.pinned = effects.pinned.contains(node);
  const bool interpreted = placed.effects || effects.kept.contains(node);
  placed.sizes = isSizeArithmetic(node);
  placed.transparent = !interpreted && (placed.sizes || (carriesOperands(node) && !strided));
  if (differentiated_.contains(node)) {
    placed.transparent = false;
    declines_.emplace_back(node, LoweringDecline{reasons::kTrainingMode, "The model asks for a gradient through it."});
  } else if (strided) {
    declines_.emplace_back(node, LoweringDecline{reasons::kOtherUses, "The order of its result in memory is read."});
  } else if (effects.kept.contains(node) && !carriesOperands(node) && !placed.sizes) {
    if (std::holds_alternative<LoweredNode>(lowerNode(node)))
      declines_.emplace_back(node,
                             LoweringDecline{reasons::kAliased, "Its result may be written to under another name."});
  } else if (!interpreted && !placed.transparent) {
    auto lowered = lowerNode(node);
    if (auto* ops = std::get_if<LoweredNode>(&lowered); ops != nullptr && left_out) {
      declines_.emplace_back(node, LoweringDecline{reasons::kDecided, "It was left out of plans (--disable)."});
    } else if (ops != nullptr && readsOptional(*ops)) {
      declines_.emplace_back(node,
                             LoweringDecline{reasons::kUnknownShape, "An optional argument may come in another rank."});
    } else if (ops != nullptr) {
      placed.lowered = true;
      placed.computes = computes(*ops);
      placed.ops = std::move(*ops);
    } else {
      declines_.emplace_back(node, std::move(std::get<LoweringDecline>(lowered)));
    }
  }
  nodes_.push_back(std::move(placed));
  for (const Value* output : node->outputs()) {
    if (output->unique() >= places_.size()) places_.resize(output->unique() + 1 + output->unique() / 2, 0);
    places_[output->unique()] = nodes_.size();
  }
}

// Computes the levels, whatever they were.
void RegionLevels::assign() {
  highest_ = last_effect_ = last_draw_ = last_check_ = 0;
  barrier_ = first_;
  for (PlacedNode& placed : nodes_) {
    placed.level = placed.inside_level = 0;
    if (placed.sizes) {
      for (const Value* input : placed.node->inputs())
        placed.inside_level = std::max(placed.inside_level, inside(input));
    }
    if (placed.lowered) {
      placeLowered(&placed);
    } else {
      placeOutside(&placed);
    }
    highest_ = std::max(highest_, placed.level);
  }
}

void RegionLevels::placeLowered(PlacedNode* placed) const {
  placed->level = barrier_;
  for (const LoweredOp& op : placed->ops.ops) {
    for (const LoweredOperand& operand : op.src) {
      if (operand.value != nullptr) placed->level = std::max(placed->level, inside(operand.value));
    }
    for (const LoweredRef& ref : op.refs) placed->level = std::max(placed->level, inside(ref.value));
  }
}

void RegionLevels::placeOutside(PlacedNode* placed) {
  for (const Value* input : placed->node->inputs()) placed->level = std::max(placed->level, outside(input));
  placed->level = std::max(placed->level, captured(placed->node));
  const bool draws = drawsInside(placed->node);
  if (draws) placed->level = std::max(placed->level, last_draw_);
  if (placed->effects) {
    placed->level = std::max({placed->level, highest_, last_effect_});
    last_effect_ = placed->level;
    barrier_ = placed->level + 1;
  } else {
    placed->level = std::max(placed->level, barrier_ > 0 ? barrier_ - 1 : 0);
    if (holdsCheck(placed->node)) placed->level = last_check_ = std::max(placed->level, last_check_);
  }
  if (draws) last_draw_ = placed->level;
}

// The first level that reads a result of `node`, also through carriers; kInterpreter if the interpreter, a block or the
// caller reads it too, kNobody if it has no reader. `readers` holds the same for the transparent nodes after it.
int RegionLevels::firstReader(const Node* node, const std::vector<int>& readers) const {
  int first = kNobody;
  for (const Value* output : node->outputs()) {
    for (const torch::jit::Use& use : output->uses()) {
      const auto reader = placeOf(use.user);
      if (!reader) return kInterpreter;
      const PlacedNode& placed = nodes_[*reader];
      if (!placed.lowered && !placed.transparent) return kInterpreter;
      first = std::min(first, placed.lowered ? placed.level : readers[*reader]);
    }
  }
  return first;
}

// True if an operand is made by another node of a region and has further readers.
bool RegionLevels::readsShared(const PlacedNode& placed) const {
  const auto shared = [&](const LoweredOperand& operand) {
    if (operand.value == nullptr || operand.value->uses().size() < 2) return false;
    const PlacedNode* producer = producerOf(operand.value);
    return producer != nullptr && producer->lowered;
  };
  return std::any_of(placed.ops.ops.begin(), placed.ops.ops.end(),
                     [&](const LoweredOp& op) { return std::any_of(op.src.begin(), op.src.end(), shared); });
}

// Moves nodes that only a later region reads into that region, so that their results need not cross: views of the
// caller's tensors, which would be copied to cross, and nodes that depend only on the caller's or the interpreter's
// values.
void RegionLevels::sink() {
  // First readers of transparent nodes; the walk is backwards, so those behind a node are known before it is met.
  std::vector<int> readers(nodes_.size(), kNobody);
  for (std::size_t place = nodes_.size(); place-- > 0;) {
    PlacedNode& placed = nodes_[place];
    if (placed.transparent) readers[place] = firstReader(placed.node, readers);
    if (!placed.lowered || placed.pinned || readsShared(placed)) continue;
    const int first = firstReader(placed.node, readers);
    if (first != kNobody) placed.level = std::max(placed.level, first);
  }
}

// Takes the nodes out of levels that compute too little: into the region that reads them first, else, if
// `may_leave_out`, to the interpreter. Returns whether any went there.
bool RegionLevels::emptySmallLevels(int min_ops, bool may_leave_out) {
  std::vector<int> ops;
  for (const PlacedNode& placed : nodes_) {
    if (!placed.computes || !placed.lowered) continue;
    if (static_cast<std::size_t>(placed.level) >= ops.size()) ops.resize(static_cast<std::size_t>(placed.level) + 1, 0);
    ++ops[static_cast<std::size_t>(placed.level)];
  }
  const auto small = [&](int level) {
    const auto at = static_cast<std::size_t>(level);
    return (at < ops.size() ? ops[at] : 0) < min_ops;
  };
  bool left_out = false;
  std::vector<int> readers(nodes_.size(), kNobody);
  for (std::size_t place = nodes_.size(); place-- > 0;) {
    PlacedNode& placed = nodes_[place];
    if (placed.transparent) readers[place] = firstReader(placed.node, readers);
    if (!placed.lowered || !small(placed.level)) continue;
    const int first = firstReader(placed.node, readers);
    if (first != kNobody && first > placed.level && !placed.pinned) {
      placed.level = first;
    } else if (may_leave_out) {
      placed.lowered = false;
      left_out = true;
    }
  }
  return left_out;
}

}  // namespace ipex_studio
