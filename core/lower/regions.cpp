// Builds the regions of a graph, one block at a time.
#include "core/lower/regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <variant>

#include "core/graph/fused_op.h"
#include "core/graph/reasons.h"
#include "core/graph/strides.h"
#include "core/graph/value_uses.h"
#include "core/lower/data_choices.h"
#include "core/lower/loop_pieces.h"
#include "core/lower/lowering_builder.h"
#include "core/lower/region_code.h"
#include "core/lower/region_levels.h"
#include "core/lower/region_loops.h"
#include "core/lower/region_object.h"
#include "core/lower/region_spec.h"
#include "core/op/plan_spec.h"

namespace ipex_studio {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

namespace {

// True for an expansion: in a plan its result, where it leaves the region, is written out.
bool expands(const PlacedNode& placed) {
  if (placed.computes || placed.ops.ops.empty() || placed.ops.ops.back().spec.kind != OpKind::kExpand) return false;
  const auto from = knownSizes(placed.node->input(0)), to = knownSizes(placed.node->output(0));
  return from && to && c10::multiply_integers(*to) >= 2 * c10::multiply_integers(*from);
}

// Builds the regions of one block, none with a level below `first`, and appends them to those found before.
class RegionBuilder {
 public:
  RegionBuilder(Graph& graph, Block& block, const NodeEffects& effects, const NodeSet& strided, const LeftOut& left_out,
                OriginTable& origins, int min_ops, RegionResult& result, int first = 0)
      : graph_(graph),
        block_(block),
        origins_(origins),
        left_out_(left_out),
        levels_(block, effects, strided, left_out, min_ops, first),
        result_(result) {}

  void build() {
    std::map<int, Level> levels;
    const auto& nodes = levels_.nodes();
    roles_.assign(nodes.size(), Role::kOutside);
    for (std::size_t place = 0; place < nodes.size(); ++place) {
      Level& level = levels[nodes[place].level];
      (nodes[place].lowered ? level.lowered : level.outside).push_back(place);
      if (nodes[place].lowered) roles_[place] = Role::kInside;
    }
    findCarriers();
    if (leaveExpansions(levels)) findCarriers();
    for (const auto& [number, level] : levels) schedule(level);
    destroyReplaced();
    remarks();
  }

 private:
  // Places in levels_.nodes(), in order, of the nodes that go into the region of the level, if it has one, and of the
  // others.
  struct Level {
    std::vector<std::size_t> lowered, outside;
  };
  enum class Role : unsigned char {
    kOutside,  // for the interpreter
    kInside,   // in the region of its level
    kCarrier,  // transparent, and not needed by the interpreter
  };

  Role roleOf(const Node* node) const {
    const auto place = levels_.placeOf(node);
    return place ? roles_[*place] : Role::kOutside;
  }

  // Leaves expansions that nothing but the interpreter reads to it, where they are views, and the views that only they
  // read. True if there was one.
  bool leaveExpansions(std::map<int, Level>& levels) {
    std::unordered_set<const Node*> left;
    for (std::size_t place = roles_.size(); place-- > 0;) {
      const PlacedNode& placed = levels_.nodes()[place];
      if (roles_[place] != Role::kInside || placed.computes || placed.node->outputs().size() != 1) continue;
      const auto& uses = placed.node->output()->uses();
      const auto all = [&](const auto& holds) { return std::all_of(uses.begin(), uses.end(), holds); };
      const bool leaves = expands(placed)
                              ? all([&](const auto& use) { return roleOf(use.user) == Role::kOutside; })
                              : !uses.empty() && all([&](const auto& use) { return left.count(use.user) != 0; });
      if (!leaves) continue;
      left.insert(placed.node);
      roles_[place] = Role::kOutside;
      Level& level = levels.at(placed.level);
      level.lowered.erase(std::find(level.lowered.begin(), level.lowered.end(), place));
      level.outside.insert(std::upper_bound(level.outside.begin(), level.outside.end(), place), place);
      result_.remarks.push_back({"lower-to-plan", RemarkKind::kMissed, reasons::kNotProfitable,
                                 "Only the interpreter reads this view, which a plan would write out.",
                                 origins_.of(placed.node)});
    }
    return !left.empty();
  }

  // Finds transparent nodes that the interpreter will not need, backwards, since the readers of a node come behind it.
  void findCarriers() {
    for (std::size_t place = roles_.size(); place-- > 0;) {
      const PlacedNode& placed = levels_.nodes()[place];
      if (!placed.transparent) continue;
      roles_[place] = Role::kOutside;
      const auto carried = [&](const Value* output) {
        return std::all_of(output->uses().begin(), output->uses().end(),
                           [&](const auto& use) { return roleOf(use.user) != Role::kOutside; });
      };
      const auto outputs = placed.node->outputs();
      if (std::all_of(outputs.begin(), outputs.end(), carried)) roles_[place] = Role::kCarrier;
    }
  }

  // Brings the block into the order that RegionLevels promises: by level, the region first. Nodes of the interpreter
  // keep their order within a level, because they need the lists and sizes in between. Nodes that regions replace stay
  // in place until they are destroyed.
  void schedule(const Level& level) {
    if (!level.lowered.empty()) makeRegion(level.lowered);
    for (const std::size_t place : level.outside) {
      if (roles_[place] == Role::kOutside) levels_.nodes()[place].node->moveBefore(block_.return_node());
    }
  }

  // True if anything but nodes of the region of `level` reads the value, also through lists and sizes that only regions
  // read.
  bool leaves(const Value* value, int level) const {
    std::vector<const Value*> open{value};
    std::unordered_set<const Node*> seen;
    while (!open.empty()) {
      const Value* read = open.back();
      open.pop_back();
      for (const torch::jit::Use& use : read->uses()) {
        const auto place = levels_.placeOf(use.user);
        if (!place || roles_[*place] == Role::kOutside) return true;
        if (roles_[*place] == Role::kInside) {
          if (levels_.nodes()[*place].level != level) return true;
        } else if (seen.insert(use.user).second) {
          open.insert(open.end(), use.user->outputs().begin(), use.user->outputs().end());
        }
      }
    }
    return false;
  }

  void makeRegion(const std::vector<std::size_t>& places) {
    std::vector<const PlacedNode*> nodes;
    for (const std::size_t place : places) nodes.push_back(&levels_.nodes()[place]);
    std::vector<Value*> outputs;
    std::vector<Node*> replaced;
    for (const PlacedNode* placed : nodes) {
      replaced.push_back(placed->node);
      for (const LoweredOp& op : placed->ops.ops) {
        for (Value* value : op.dst) {
          if (leaves(value, placed->level)) outputs.push_back(value);
        }
      }
    }
    const std::vector<OriginId> ids = origins_.of(replaced);
    const RegionSpec spec = makeRegionSpec(nodes, outputs, origins_);
    result_.code.push_back(copyRegionCode(nodes, spec, outputs, replaced_, origins_));
    insertNode(spec, outputs, ids);
    result_.nodes_inside += static_cast<int>(nodes.size());
    result_.remarks.push_back({"lower-to-plan", RemarkKind::kApplied, reasons::kApplied,
                               fmt::format("{} nodes became region {}.", nodes.size(), result_.attributes.size() - 1),
                               ids});
  }

  void insertNode(const RegionSpec& spec, const std::vector<Value*>& outputs, const std::vector<OriginId>& origins) {
    const std::string name = fmt::format("region_{}", result_.attributes.size());
    torch::jit::IValue region = makeRegionObject(planSpecToText(spec.plan), spec.constants);
    torch::jit::WithInsertPoint point(block_.return_node());
    // The caller registers the attribute itself on the module.
    Node* get = graph_.insertNode(graph_.create(c10::prim::GetAttr, {graph_.inputs()[0]}));
    get->s_(c10::attr::name, name);
    Value* object = get->output()->setType(regionType());
    // Results of earlier regions are looked up: the lowered operands still name the values that those regions replaced.
    std::vector<Value*> inputs;
    for (Value* value : spec.tensor_inputs) {
      const auto found = replaced_.find(value);
      inputs.push_back(found == replaced_.end() ? value : found->second);
      if (lowering::isComplex(value))
        inputs.back() = insertOver("aten::view_as_real", insertOver("aten::resolve_conj", inputs.back(), value->type()),
                                   c10::TensorType::get());
    }
    Value* tensors = graph_.insertNode(graph_.createList(c10::TensorType::get(), inputs))->output();
    // A list without entries is made once, not in each run.
    Value* ints = spec.int_inputs.empty()
                      ? graph_.insertConstant(c10::List<std::int64_t>())
                      : graph_.insertNode(graph_.createList(c10::IntType::get(), spec.int_inputs))->output();
    Node* call = graph_.insertNode(
        graph_.create(c10::Symbol::fromQualString("ipex_studio::region"), {object, tensors, ints}, 1));
    call->output()->setType(c10::ListType::ofTensors());
    Node* unpack = graph_.insertNode(graph_.create(c10::prim::ListUnpack, {call->output()}, outputs.size()));
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      Value* result = unpack->output(o)->setType(outputs[o]->type());
      if (lowering::isComplex(outputs[o])) {
        result->setType(c10::TensorType::get());
        result = insertOver("aten::view_as_complex", result, outputs[o]->type());
      }
      origins_.set(result, origins_.of(outputs[o]).vec());
      replaceUses(outputs[o], result);
      replaced_[outputs[o]] = result;
    }
    origins_.set(call->output(), origins);
    result_.attributes.emplace_back(name, std::move(region));
  }

  Value* insertOver(const char* kind, Value* operand, const c10::TypePtr& type) {
    return graph_.insertNode(graph_.create(c10::Symbol::fromQualString(kind), {operand}))->output()->setType(type);
  }

  // Destroys the nodes that are now in regions, and those that carried their operands: nothing else reads them.
  void destroyReplaced() {
    std::vector<Node*> dead;
    for (std::size_t place = 0; place < roles_.size(); ++place) {
      if (roles_[place] != Role::kOutside) dead.push_back(levels_.nodes()[place].node);
    }
    ValueUses uses;
    for (Node* node : dead) uses.removeInputs(node);
    for (Node* node : dead) {
      if (!node->hasUses()) node->destroy();
    }
  }

  void remarks() {
    for (const PlacedNode& placed : levels_.nodes()) {
      if (!placed.transparent) ++result_.nodes_total;
    }
    for (const auto& [node, why] : levels_.declines()) {
      const bool is_fixed = why.reason == reasons::kOtherUses || why.reason == reasons::kTrainingMode;
      if (!is_fixed && takeDataChoice(node)) continue;
      result_.remarks.push_back({"lower-to-plan", RemarkKind::kMissed, why.reason, why.why, origins_.of(node)});
    }
  }

  // Puts an operator of ours in the place of one whose result's size depends on the data; false if there is none for
  // it.
  bool takeDataChoice(Node* node) {
    if (left_out_ && left_out_(node)) return false;
    Node* made = replaceDataChoice(node);
    if (made == nullptr) return false;
    const std::vector<OriginId> ids = origins_.of(node);
    for (const Value* output : made->outputs()) origins_.set(output, ids);
    result_.remarks.push_back({"lower-to-plan", RemarkKind::kApplied, reasons::kApplied,
                               fmt::format("{} between regions: the data decide its result or the size of that.",
                                           made->kind().toQualString()),
                               ids});
    ++result_.nodes_inside;
    Node* view = node->inputs().empty() ? nullptr : node->input(0)->node();
    node->destroy();
    // The views in between are computed by the operator, too.
    while (isKind(made, "ipex_studio::mask_places") && view != made->input(0)->node()) {
      Node* next = view->input(0)->node();
      std::vector<OriginId> of_view = origins_.of(view);
      auto& remarks = result_.remarks;
      remarks.erase(std::remove_if(remarks.begin(), remarks.end(),
                                   [&](const Remark& remark) {
                                     return remark.kind == RemarkKind::kMissed && remark.origins == of_view;
                                   }),
                    remarks.end());
      view->destroy();
      ++result_.nodes_inside;
      view = next;
    }
    return true;
  }

  Graph& graph_;
  Block& block_;
  OriginTable& origins_;
  const LeftOut& left_out_;
  RegionLevels levels_;
  std::vector<Role> roles_;  // by place in levels_.nodes()
  std::unordered_map<Value*, Value*> replaced_;
  RegionResult& result_;
};

// Blocks of conditions and loops that may have regions: each region costs memory and a plan for each size.
constexpr std::size_t kMaxInnerBlocks = 64;

// A branch of a condition or the body of a loop.
struct InnerBlock {
  Block* block = nullptr;
  std::vector<Node*> lowerable;
  bool left_out = false;
};

// The blocks that hold nodes to lower, inner ones first. Values whose sizes differ between the rounds of a loop have no
// known ones, so that no plan is compiled in each round.
std::vector<InnerBlock> innerBlocks(Graph& graph) {
  std::vector<Block*> found, open{graph.block()};
  while (!open.empty()) {
    Block* block = open.back();
    open.pop_back();
    for (Node* node : block->nodes()) {
      if (node->kind() != c10::prim::If && node->kind() != c10::prim::Loop) continue;
      for (Block* inner : node->blocks()) {
        found.push_back(inner);
        open.push_back(inner);
      }
    }
  }
  std::vector<InnerBlock> computing;
  for (auto block = found.rbegin(); block != found.rend(); ++block) {
    InnerBlock inner{*block, {}, false};
    for (Node* node : (*block)->nodes()) {
      if (std::holds_alternative<LoweredNode>(lowerNode(node))) inner.lowerable.push_back(node);
    }
    if (!inner.lowerable.empty()) computing.push_back(std::move(inner));
  }
  return computing;
}

// Leaves out those that compute least until no more than kMaxInnerBlocks are left.
void leaveOutSmallest(std::vector<InnerBlock>& blocks) {
  std::vector<InnerBlock*> by_size;
  for (InnerBlock& inner : blocks) by_size.push_back(&inner);
  std::stable_sort(by_size.begin(), by_size.end(), [](const InnerBlock* one, const InnerBlock* other) {
    return one->lowerable.size() > other->lowerable.size();
  });
  for (std::size_t i = kMaxInnerBlocks; i < by_size.size(); ++i) by_size[i]->left_out = true;
}

// Makes a loop whose body is now a region one node. False: it is none.
bool takeLoop(Node* loop, OriginTable& origins, const LeftOut& left_out, RegionResult& result) {
  const auto made = replaceRegionLoop(loop, origins, left_out);
  if (!made) return false;
  // The loop itself counts as one node; what gets its region and takes its results apart as none.
  result.nodes_inside += made->nodes + made->outside + 1;
  result.nodes_total += made->outside - made->hoisted - 2;
  auto& remarks = result.remarks;
  const auto is_taken = [&](const Remark& remark) {
    return remark.kind == RemarkKind::kMissed && !remark.origins.empty() &&
           std::find(made->origins.begin(), made->origins.end(), remark.origins) != made->origins.end();
  };
  remarks.erase(std::remove_if(remarks.begin(), remarks.end(), is_taken), remarks.end());
  remarks.push_back({"lower-to-plan", RemarkKind::kApplied, reasons::kApplied,
                     "A loop became one node, which runs the rounds of its region.", origins.of(made->call)});
  return true;
}

// Builds the regions of the body of a loop so that it may become one node. Returns whether it did.
bool buildLoop(Graph& graph, Node* loop, const NodeEffects& effects, const NodeSet& strided, const LeftOut& left_out,
               OriginTable& origins, int min_ops, RegionResult& result) {
  const auto goes_inside = [&](const Node* node) {
    // Readers of what the loop writes would miss it where that is written later.
    if (effects.barriers.contains(node) || effects.pinned.contains(node) || (left_out && left_out(node))) return false;
    if (isSizeArithmetic(node) || carriesOperands(node)) return true;
    return !effects.kept.contains(node) && !strided.contains(node) &&
           std::holds_alternative<LoweredNode>(lowerNode(const_cast<Node*>(node)));
  };
  const auto pieces = piecesOfLoop(loop, goes_inside);
  std::unordered_set<const Node*> slices;
  if (pieces) {
    slices.insert(pieces->slices.begin(), pieces->slices.end());
    // Collectors move to the end: nodes before and behind them share a region then.
    for (Node* node : pieces->collectors) node->moveBefore(loop->blocks()[0]->return_node());
  }
  const LeftOut stays = [&](const Node* node) { return slices.count(node) != 0 || (left_out && left_out(node)); };
  // Nodes that read no slice share the region behind the slices.
  const int first = pieces ? 1 : 0;
  RegionBuilder(graph, *loop->blocks()[0], effects, strided, stays, origins, min_ops, result, first).build();
  if (!pieces) return false;
  if (takeLoop(loop, origins, left_out, result)) return true;
  for (Remark& remark : result.remarks) {
    const bool of_slice = std::any_of(pieces->slices.begin(), pieces->slices.end(),
                                      [&](const Node* node) { return origins.of(node) == remark.origins; });
    if (of_slice && remark.reason == reasons::kDecided)
      remark = {"lower-to-plan", RemarkKind::kMissed, reasons::kNotConstant,
                "The number of the round chooses the slice.", remark.origins};
  }
  return false;
}

}  // namespace

RegionResult buildRegions(Graph& graph, OriginTable& origins, const LeftOut& left_out, int min_ops) {
  RegionResult result;
  splitNonzeroLines(graph, origins);
  NodeEffects effects = effectsOf(graph);
  NodeSet strided = nodesWithShownStrides(graph);
  std::vector<InnerBlock> blocks = innerBlocks(graph);
  leaveOutSmallest(blocks);
  for (const InnerBlock& inner : blocks) {
    if (!inner.left_out) continue;
    result.remarks.push_back(
        {"lower-to-plan", RemarkKind::kMissed, reasons::kControlFlow,
         fmt::format("The {} branches and loops that hold more have the regions.", kMaxInnerBlocks),
         origins.of(inner.lowerable)});
  }
  for (const InnerBlock& inner : blocks) {
    if (inner.left_out) continue;
    Node* owner = inner.block->owningNode();
    if (owner->kind() != c10::prim::Loop) {
      RegionBuilder(graph, *inner.block, effects, strided, left_out, origins, min_ops, result).build();
      continue;
    }
    if (!buildLoop(graph, owner, effects, strided, left_out, origins, min_ops, result)) continue;
    effects = effectsOf(graph);  // nodes may now lie where others did
    strided = nodesWithShownStrides(graph);
  }
  RegionBuilder(graph, *graph.block(), effects, strided, left_out, origins, min_ops, result).build();
  return result;
}

}  // namespace ipex_studio
