// See graph_union.h.
#include "studio/canvas/graph_union.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace ipex_studio {
namespace {

constexpr std::size_t kMaxCarried = 4096;
constexpr std::size_t kLongestScope = 400;
constexpr std::int32_t kDeepestScope = 24;

// True for lists and tuples, which carry values through instead of computing; edges go through them.
bool isCarrier(const GraphNode& node) {
  return node.kind == "prim::ListConstruct" || node.kind == "prim::TupleConstruct";
}

const GraphValue* valueOf(const GraphSnapshot& graph, std::int32_t id) {
  return id >= 0 && static_cast<std::size_t>(id) < graph.values.size() ? &graph.values[id] : nullptr;
}

// Place of a node among the slots before these are numbered: the frozen node it stands at, and its number among the
// nodes there, counted from the last.
struct Anchor {
  std::int32_t position = 0;
  std::int32_t from_last = 0;
};

class Uniter {
 public:
  explicit Uniter(const JobIndex& index) : index_(index) {}

  GraphUnion unite() {
    numberOrigins();
    result_.stages.resize(index_.graphs.size());
    anchors_.resize(index_.graphs.size());
    for (std::size_t g = 0; g < index_.graphs.size(); ++g) anchorNodes(g);
    numberSlots();
    for (std::size_t g = 0; g < index_.graphs.size(); ++g) connect(g);
    findModules();
    return std::move(result_);
  }

 private:
  const GraphSnapshot& graph(std::size_t g) const { return *index_.graphs[g].graph; }

  void numberOrigins() {
    if (index_.graphs.empty()) return;
    const GraphSnapshot& frozen = graph(0);
    for (std::size_t n = 0; n < frozen.nodes.size(); ++n) {
      for (const OriginId origin : frozen.nodes[n].origins)
        position_of_origin_.emplace(origin, static_cast<std::int32_t>(n));
    }
    positions_ = static_cast<std::int32_t>(frozen.nodes.size());
  }

  static bool isDrawn(const GraphSnapshot& graph, const GraphNode& node) {
    return !isCarrier(node) && !isConversion(graph, node);
  }

  // Anchors nodes from the last to the first, so that the users of a node are known.
  void anchorNodes(std::size_t g) {
    const GraphSnapshot& shown = graph(g);
    // First position that reads each value; lists and conversions count as their readers.
    std::vector<std::int32_t> read_at(shown.values.size(), positions_);
    count_.resize(static_cast<std::size_t>(positions_) + 1, 0);
    std::vector<std::int32_t> seen(count_.size(), 0);
    anchors_[g].resize(shown.nodes.size());
    std::int32_t next = std::max(positions_ - 1, 0);
    for (std::size_t i = shown.nodes.size(); i-- > 0;) {
      const GraphNode& node = shown.nodes[i];
      std::int32_t limit = positions_;
      for (const std::int32_t id : node.outputs) {
        if (valueOf(shown, id) != nullptr) limit = std::min(limit, read_at[id]);
      }
      const bool drawn = isDrawn(shown, node);
      const std::int32_t position = drawn ? choosePosition(node, limit, next) : limit;
      for (const std::int32_t id : node.inputs) {
        if (valueOf(shown, id) != nullptr) read_at[id] = std::min(read_at[id], position);
      }
      if (!drawn) continue;
      next = position;
      anchors_[g][i] = {position, seen[position]++};
      count_[position] = std::max(count_[position], seen[position]);
    }
  }

  // Position of a node: its last origin before everything that reads it, else the first origin, else that of the next
  // node.
  std::int32_t choosePosition(const GraphNode& node, std::int32_t limit, std::int32_t next) const {
    std::int32_t first = -1;
    std::int32_t last = -1;
    for (const OriginId origin : node.origins) {
      const auto known = position_of_origin_.find(origin);
      if (known == position_of_origin_.end()) continue;
      if (first < 0 || known->second < first) first = known->second;
      if (known->second < limit) last = std::max(last, known->second);
    }
    return last >= 0 ? last : first >= 0 ? first : next;
  }

  void numberSlots() {
    for (const GraphIndex& graph : index_.graphs) {
      result_.inputs = std::max(result_.inputs, static_cast<std::int32_t>(graph.graph->inputs.size()));
      result_.outputs = std::max(result_.outputs, static_cast<std::int32_t>(graph.graph->outputs.size()));
    }
    base_.assign(count_.size() + 1, result_.inputs);
    for (std::size_t p = 0; p < count_.size(); ++p) base_[p + 1] = base_[p] + count_[p];
    result_.slots = base_.back() + result_.outputs;
    for (std::size_t g = 0; g < result_.stages.size(); ++g) {
      UnionStage& stage = result_.stages[g];
      const GraphSnapshot& shown = graph(g);
      stage.node_of_slot.assign(static_cast<std::size_t>(result_.slots), UnionStage::kAbsent);
      stage.slot_of_node.assign(shown.nodes.size(), -1);
      for (std::size_t n = 0; n < shown.nodes.size(); ++n) {
        if (!isDrawn(shown, shown.nodes[n])) continue;
        const Anchor& anchor = anchors_[g][n];
        const std::int32_t slot = base_[anchor.position] + count_[anchor.position] - 1 - anchor.from_last;
        stage.slot_of_node[n] = slot;
        stage.node_of_slot[slot] = static_cast<std::int32_t>(n);
      }
    }
  }

  // Adds the edges of one graph, through nodes that are not drawn.
  void connect(std::size_t g) {
    const GraphSnapshot& shown = graph(g);
    UnionStage& stage = result_.stages[g];
    slot_of_value_.assign(shown.values.size(), -1);
    through_.assign(shown.values.size(), -1);
    pairs_.clear();
    for (std::size_t i = 0; i < shown.inputs.size(); ++i) {
      const std::int32_t id = shown.inputs[i];
      if (valueOf(shown, id) == nullptr || index_.graphs[g].users_of_value[id] == 0) continue;
      slot_of_value_[id] = static_cast<std::int32_t>(i);
      stage.node_of_slot[i] = UnionStage::kPort;
    }
    for (std::size_t n = 0; n < shown.nodes.size(); ++n) {
      for (const std::int32_t id : shown.nodes[n].outputs) {
        if (valueOf(shown, id) == nullptr) continue;
        slot_of_value_[id] = stage.slot_of_node[n];
        if (stage.slot_of_node[n] < 0) through_[id] = static_cast<std::int32_t>(n);
      }
    }
    for (std::size_t n = 0; n < shown.nodes.size(); ++n) {
      const std::int32_t to = stage.slot_of_node[n];
      if (to < 0) continue;
      for (const std::int32_t id : shown.nodes[n].inputs) addEdges(shown, id, to, &stage);
      enterBlock(shown, static_cast<std::int32_t>(n), &stage);
    }
    for (std::size_t o = 0; o < shown.outputs.size(); ++o) {
      if (valueOf(shown, shown.outputs[o]) == nullptr) continue;
      const std::int32_t slot = result_.slots - result_.outputs + static_cast<std::int32_t>(o);
      stage.node_of_slot[slot] = UnionStage::kPort;
      addEdges(shown, shown.outputs[o], slot, &stage);
    }
  }

  void addEdges(const GraphSnapshot& shown, std::int32_t id, std::int32_t to, UnionStage* stage) {
    struct Open {
      std::int32_t value;
      std::int32_t conversion;
    };
    std::vector<Open> open{{id, -1}};
    // Values are defined before they are used, so the loop ends; the bound keeps hostile nesting short.
    for (std::size_t next = 0; next < open.size() && next < kMaxCarried; ++next) {
      const Open at = open[next];
      if (valueOf(shown, at.value) == nullptr) continue;
      const std::int32_t hidden = through_[at.value];
      if (hidden < 0) {
        addEdge({slot_of_value_[at.value], to, at.value, at.conversion}, stage);
        continue;
      }
      const bool carrier = isCarrier(shown.nodes[hidden]);
      for (const std::int32_t input : shown.nodes[hidden].inputs)
        open.push_back({input, carrier ? at.conversion : hidden});
    }
  }

  void addEdge(const UnionEdge& edge, UnionStage* stage) {
    if (edge.from < 0 || edge.from == edge.to) return;
    const std::int64_t pair = (static_cast<std::int64_t>(edge.from) << 32) | static_cast<std::uint32_t>(edge.to);
    if (pairs_.insert(pair).second) stage->edges.push_back(edge);
  }

  // Joins the first nodes of a block to the block's owner.
  void enterBlock(const GraphSnapshot& shown, std::int32_t n, UnionStage* stage) {
    const GraphNode& node = shown.nodes[n];
    if (node.parent < 0 || static_cast<std::size_t>(node.parent) >= shown.nodes.size()) return;
    for (const std::int32_t id : node.inputs) {
      const GraphValue* input = valueOf(shown, id);
      if (input == nullptr || input->producer < 0) continue;
      const auto producer = static_cast<std::size_t>(input->producer);
      if (producer < shown.nodes.size() && shown.nodes[producer].parent == node.parent) return;
    }
    addEdge({stage->slot_of_node[node.parent], stage->slot_of_node[n], -1, -1}, stage);
  }

  void findModules() {
    std::vector<std::string> scopes(static_cast<std::size_t>(result_.slots));
    std::vector<std::int32_t> kinds(scopes.size(), -1);
    std::unordered_map<std::string, std::int32_t> number_of_kind;
    for (std::size_t g = 0; g < result_.stages.size(); ++g) {
      for (std::int32_t s = 0; s < result_.slots; ++s) {
        const std::int32_t n = result_.stages[g].node_of_slot[s];
        if (n < 0 || !scopes[s].empty()) continue;
        const std::string& scope = graph(g).nodes[n].scope;
        if (scope.empty() || scope.size() > kLongestScope) continue;
        scopes[s] = displayText(scope, kLongestScope);
        const auto number = static_cast<std::int32_t>(number_of_kind.size());
        kinds[s] = number_of_kind.emplace(graph(g).nodes[n].kind, number).first->second;
      }
    }
    std::unordered_map<std::string, ModuleCount> counts;
    for (std::size_t s = 0; s < scopes.size(); ++s) {
      for (const std::string& path : prefixesOf(scopes[s])) {
        ModuleCount& count = counts[path];
        if (count.slots++ == 0) count.kind = kinds[s];
        count.diverse = count.diverse || count.kind != kinds[s];
      }
    }
    result_.module_of_slot.assign(scopes.size(), -1);
    std::unordered_map<std::string, std::int32_t> module_of_path;
    for (std::size_t s = 0; s < scopes.size(); ++s) {
      const std::vector<std::string> paths = prefixesOf(scopes[s]);
      std::int32_t parent = -1;
      for (std::size_t p = 0; p < paths.size(); ++p) {
        const ModuleCount& count = counts[paths[p]];
        // A module called several times is no group, and one with nothing beside an inner module says nothing.
        if (count.slots < 2 || !count.diverse) break;
        if (p + 1 < paths.size() && counts[paths[p + 1]].slots == count.slots) continue;
        const auto [known, fresh] = module_of_path.emplace(paths[p], static_cast<std::int32_t>(result_.modules.size()));
        if (fresh) {
          const std::int32_t depth = parent < 0 ? 0 : result_.modules[parent].depth + 1;
          result_.modules.push_back({paths[p], parent, depth, count.slots});
        }
        parent = known->second;
      }
      result_.module_of_slot[s] = parent;
    }
  }

  struct ModuleCount {
    std::int32_t slots = 0;
    std::int32_t kind = -1;
    bool diverse = false;  // true: holds nodes of more than one kind
  };

  // All prefixes of a scope: "a", "a.b", "a.b.c".
  static std::vector<std::string> prefixesOf(const std::string& scope) {
    std::vector<std::string> paths;
    if (scope.empty()) return paths;
    std::size_t dot = scope.find('.');
    for (std::int32_t depth = 0; depth < kDeepestScope; ++depth, dot = scope.find('.', dot + 1)) {
      paths.push_back(scope.substr(0, dot));
      if (dot == std::string::npos) break;
    }
    return paths;
  }

  const JobIndex& index_;
  GraphUnion result_;
  std::unordered_map<OriginId, std::int32_t> position_of_origin_;
  std::int32_t positions_ = 0;
  std::vector<std::vector<Anchor>> anchors_;
  std::vector<std::int32_t> count_;  // number of slots of each position
  std::vector<std::int32_t> base_;   // first slot of each position
  std::vector<std::int32_t> slot_of_value_;
  std::vector<std::int32_t> through_;  // for each value: the node without a slot that makes it; -1: none
  std::unordered_set<std::int64_t> pairs_;
};

}  // namespace

bool isConversion(const GraphSnapshot& graph, const GraphNode& node) {
  if (node.outputs.size() != 1 || kindGroup(node.kind) != KindGroup::kReorder) return false;
  // Without a producer there is no edge to carry the reorder, which is then a node like others.
  const auto carried = std::count_if(node.inputs.begin(), node.inputs.end(), [&](std::int32_t id) {
    const GraphValue* value = valueOf(graph, id);
    return value != nullptr && value->constant.empty() &&
           (value->producer >= 0 || std::find(graph.inputs.begin(), graph.inputs.end(), id) != graph.inputs.end());
  });
  return carried == 1;
}

GraphUnion uniteGraphs(const JobIndex& index) { return Uniter(index).unite(); }

}  // namespace ipex_studio
