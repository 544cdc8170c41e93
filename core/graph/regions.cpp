#include "core/graph/regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <variant>

#include "core/graph/fused_op.h"
#include "core/graph/reasons.h"
#include "core/graph/region_levels.h"
#include "core/graph/region_object.h"
#include "core/graph/region_spec.h"
#include "core/graph/value_uses.h"
#include "core/plan/plan_spec.h"

namespace ipex_studio {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

namespace {

bool computes(const PlacedNode& placed) {
  return std::any_of(placed.ops.ops.begin(), placed.ops.ops.end(), [](const LoweredOp& op) { return !isView(op.spec.kind); });
}

// Reorders the block into the schedule that RegionLevels promises: by level, lowered nodes first. A level without a
// region keeps its order: its nodes need the lists and sizes between them.
void schedule(Block& block, std::vector<const PlacedNode*>& order, const std::unordered_set<const Node*>& lowered) {
  const auto place = [&](const PlacedNode* placed) { return std::make_pair(placed->level, lowered.count(placed->node) == 0); };
  std::stable_sort(order.begin(), order.end(), [&](const PlacedNode* a, const PlacedNode* b) { return place(a) < place(b); });
  for (const PlacedNode* placed : order) placed->node->moveBefore(block.return_node());
}

// Transparent nodes that the interpreter will still need.
std::unordered_set<const Node*> neededTransparent(const std::vector<PlacedNode>& nodes, const std::unordered_set<const Node*>& lowered) {
  std::unordered_set<const Node*> transparent, needed;
  for (const PlacedNode& placed : nodes) {
    if (placed.transparent) transparent.insert(placed.node);
  }
  for (auto placed = nodes.rbegin(); placed != nodes.rend(); ++placed) {
    if (!placed->transparent) continue;
    for (const Value* output : placed->node->outputs()) {
      for (const auto& use : output->uses()) {
        const bool carried = lowered.count(use.user) != 0 || (transparent.count(use.user) != 0 && needed.count(use.user) == 0);
        if (!carried) needed.insert(placed->node);
      }
    }
  }
  return needed;
}

// The regions of one block, appended to those found before.
class RegionBuilder {
 public:
  RegionBuilder(Graph& graph, Block& block, OriginTable& origins, RegionResult& result)
      : graph_(graph), block_(block), origins_(origins), levels_(graph, block), result_(result) {}

  void build(int min_ops) {
    std::map<int, std::vector<const PlacedNode*>> regions;
    std::vector<const PlacedNode*> order;
    for (const PlacedNode& placed : levels_.nodes()) {
      order.push_back(&placed);
      if (placed.lowered) regions[placed.level].push_back(&placed);
    }
    for (auto entry = regions.begin(); entry != regions.end();) {
      const auto ops = std::count_if(entry->second.begin(), entry->second.end(), [](const PlacedNode* p) { return computes(*p); });
      entry = ops < min_ops ? regions.erase(entry) : std::next(entry);
    }
    for (const auto& [level, nodes] : regions) {
      for (const PlacedNode* placed : nodes) lowered_.insert(placed->node);
    }
    schedule(block_, order, lowered_);
    needed_ = neededTransparent(levels_.nodes(), lowered_);
    for (const PlacedNode& placed : levels_.nodes()) {
      if (placed.transparent && lowered_.count(placed.node) == 0 && needed_.count(placed.node) == 0) dead_carriers_.insert(placed.node);
    }
    for (const auto& [level, nodes] : regions) makeRegion(nodes);
    destroyLowered();
    remarks();
  }

 private:
  // Read by anybody but `members`, also through lists and sizes that only regions read.
  bool leaves(const Value* value, const std::unordered_set<const Node*>& members) const {
    std::vector<const Value*> open{value};
    std::unordered_set<const Node*> seen;
    while (!open.empty()) {
      const Value* read = open.back();
      open.pop_back();
      for (const torch::jit::Use& use : read->uses()) {
        if (members.count(use.user) != 0) continue;
        if (dead_carriers_.count(use.user) == 0) return true;
        if (seen.insert(use.user).second) open.insert(open.end(), use.user->outputs().begin(), use.user->outputs().end());
      }
    }
    return false;
  }

  void makeRegion(const std::vector<const PlacedNode*>& nodes) {
    std::unordered_set<const Node*> members;
    for (const PlacedNode* placed : nodes) members.insert(placed->node);
    std::vector<Value*> outputs;
    for (const PlacedNode* placed : nodes) {
      for (const LoweredOp& op : placed->ops.ops) {
        for (Value* value : op.dst) {
          if (leaves(value, members)) outputs.push_back(value);
        }
      }
    }
    std::vector<OriginId> ids;
    for (const PlacedNode* placed : nodes) {
      const std::vector<OriginId> own = origins_.of(placed->node);
      ids.insert(ids.end(), own.begin(), own.end());
    }
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    insertNode(nodes, makeRegionSpec(nodes, outputs, origins_), outputs, ids);
    result_.nodes_inside += static_cast<int>(nodes.size());
    result_.remarks.push_back({"lower-to-plan", RemarkKind::kApplied, reasons::kApplied,
                               fmt::format("{} nodes became region {}.", nodes.size(), result_.attributes.size() - 1), ids});
  }

  void insertNode(const std::vector<const PlacedNode*>& nodes, const RegionSpec& spec, const std::vector<Value*>& outputs,
                  const std::vector<OriginId>& origins) {
    const std::string name = fmt::format("region_{}", result_.attributes.size());
    torch::jit::IValue region = makeRegionObject(planSpecToText(spec.plan), spec.constants);
    torch::jit::WithInsertPoint point(nodes.back()->node->next());
    // The attribute itself is registered on the module by the caller.
    Node* get = graph_.insertNode(graph_.create(c10::prim::GetAttr, {graph_.inputs()[0]}));
    get->s_(c10::attr::name, name);
    Value* object = get->output()->setType(regionType());
    // Results of earlier regions: the lowered operands still name the values that those regions replaced.
    std::vector<Value*> inputs;
    for (Value* value : spec.tensor_inputs) {
      const auto found = replaced_.find(value);
      inputs.push_back(found == replaced_.end() ? value : found->second);
    }
    Value* tensors = graph_.insertNode(graph_.createList(c10::TensorType::get(), inputs))->output();
    Value* ints = graph_.insertNode(graph_.createList(c10::IntType::get(), spec.int_inputs))->output();
    Node* call = graph_.insertNode(graph_.create(c10::Symbol::fromQualString("ipex_studio::region"), {object, tensors, ints}, 1));
    call->output()->setType(c10::ListType::ofTensors());
    Node* unpack = graph_.insertNode(graph_.create(c10::prim::ListUnpack, {call->output()}, outputs.size()));
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      unpack->output(o)->setType(outputs[o]->type());
      origins_.set(unpack->output(o), origins_.of(outputs[o]));
      replaceUses(outputs[o], unpack->output(o));
      replaced_[outputs[o]] = unpack->output(o);
    }
    origins_.set(call->output(), origins);
    result_.attributes.emplace_back(name, std::move(region));
  }

  // Lowered nodes only feed each other and dead carriers now.
  void destroyLowered() {
    const auto& nodes = levels_.nodes();
    std::vector<Node*> dead;
    for (const PlacedNode& placed : nodes) {
      const bool gone = lowered_.count(placed.node) != 0 || (placed.transparent && needed_.count(placed.node) == 0);
      if (gone) dead.push_back(placed.node);
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
      result_.remarks.push_back({"lower-to-plan", RemarkKind::kMissed, why.reason, why.why, origins_.of(node)});
    }
  }

  Graph& graph_;
  Block& block_;
  OriginTable& origins_;
  RegionLevels levels_;
  std::unordered_set<const Node*> lowered_;
  std::unordered_set<const Node*> needed_;
  std::unordered_set<const Node*> dead_carriers_;   // transparent, and nobody in the interpreter needs them
  std::unordered_map<Value*, Value*> replaced_;
  RegionResult& result_;
};

// Each block is analysed on the whole graph as it is then.
constexpr std::size_t kMostBranches = 32;

// Branches that may hold regions, inner ones first. Those in loops may not: what has another size in each round would be
// compiled in each.
std::vector<Block*> branchesOf(Graph& graph) {
  std::vector<Block*> found, open{graph.block()};
  while (!open.empty()) {
    Block* block = open.back();
    open.pop_back();
    for (Node* node : block->nodes()) {
      if (node->kind() != c10::prim::If) continue;
      for (Block* branch : node->blocks()) {
        found.push_back(branch);
        open.push_back(branch);
      }
    }
  }
  std::reverse(found.begin(), found.end());
  return found;
}

// Is there anything in it but carriers and further branches?
bool mayCompute(Block& block) {
  return std::any_of(block.nodes().begin(), block.nodes().end(), [](Node* node) { return std::holds_alternative<LoweredNode>(lowerNode(node)); });
}

}  // namespace

RegionResult buildRegions(Graph& graph, OriginTable& origins, int min_ops) {
  RegionResult result;
  std::size_t branches = 0;
  for (Block* branch : branchesOf(graph)) {
    if (branches == kMostBranches) break;
    if (!mayCompute(*branch)) continue;
    ++branches;
    RegionBuilder(graph, *branch, origins, result).build(min_ops);
  }
  RegionBuilder(graph, *graph.block(), origins, result).build(min_ops);
  return result;
}

}  // namespace ipex_studio
