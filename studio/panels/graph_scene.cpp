// See graph_scene.h.
#include "studio/panels/graph_scene.h"

#include <algorithm>
#include <unordered_set>

namespace ipex_studio {
namespace {

constexpr float kLeastWidth = 116;
constexpr float kMostWidth = 292;
constexpr float kNodeHeight = 40;
constexpr float kPillHeight = 26;
constexpr float kSides = 28;  // strip and padding
constexpr float kTimeGap = 14;
constexpr std::size_t kMostCarried = 4096;

float titleWidth(const TextMetrics& metrics, const std::string& text) {
  float width = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 128) width += metrics.title[byte];
    if (byte >= 0xC0) width += metrics.title['o'];
  }
  return width;
}

float monoWidth(const TextMetrics& metrics, const std::string& text) {
  const auto letters =
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  return metrics.mono * static_cast<float>(letters);
}

class SceneBuilder {
 public:
  SceneBuilder(const GraphIndex& index, const RunIndex& run, const TextMetrics& metrics)
      : index_(index), graph_(*index.graph), run_(run), metrics_(metrics), scene_(std::make_shared<GraphScene>()) {}

  std::shared_ptr<const GraphScene> build(const std::atomic<bool>* cancel) {
    addInputs();
    addNodes();
    addOutputs();
    addEdges();
    addTimes();
    LayoutGraph layout;
    for (CanvasNode& node : scene_->canvas.nodes) {
      sizeNode(&node);
      layout.nodes.push_back(node.size);
    }
    for (const CanvasEdge& edge : scene_->canvas.edges) layout.edges.push_back({edge.from, edge.to});
    Layout placed = layoutGraph(layout, {}, cancel);
    if (placed.cancelled) return nullptr;
    scene_->canvas.finish(std::move(placed));
    return scene_;
  }

 private:
  std::int32_t addNode(CanvasNode node, std::int32_t graph_node) {
    scene_->canvas.nodes.push_back(std::move(node));
    scene_->graph_node.push_back(graph_node);
    scene_->rows.emplace_back();
    return static_cast<std::int32_t>(scene_->canvas.nodes.size()) - 1;
  }

  const GraphValue* value(std::int32_t id) const {
    return id >= 0 && static_cast<std::size_t>(id) < graph_.values.size() ? &graph_.values[id] : nullptr;
  }

  void addInputs() {
    source_of_value_.assign(graph_.values.size(), -1);
    for (const std::int32_t id : graph_.inputs) {
      const GraphValue* input = value(id);
      if (input == nullptr || index_.users_of_value[id] == 0) continue;
      CanvasNode node;
      node.title = displayText(input->name.empty() ? "input" : input->name, 60);
      node.facts = formatShape(input->type);
      node.group = KindGroup::kInputOutput;
      source_of_value_[id] = addNode(std::move(node), -1);
    }
  }

  // Lists and tuples carry values; they are no steps. Edges go through them.
  static bool isCarrier(const GraphNode& node) {
    return node.kind == "prim::ListConstruct" || node.kind == "prim::TupleConstruct";
  }

  void addNodes() {
    scene_->canvas_node.assign(graph_.nodes.size(), -1);
    carrier_of_value_.assign(graph_.values.size(), -1);
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const GraphNode& from = graph_.nodes[n];
      if (isCarrier(from)) {
        for (const std::int32_t id : from.outputs) {
          if (value(id) != nullptr) carrier_of_value_[id] = static_cast<std::int32_t>(n);
        }
        continue;
      }
      CanvasNode node;
      const std::size_t colon = from.kind.rfind("::");
      node.title = displayText(
          !from.name.empty() ? from.name : from.kind.substr(colon == std::string::npos ? 0 : colon + 2), 60);
      node.facts = nodeFacts(graph_, from);
      node.group = kindGroup(from.kind);
      scene_->canvas_node[n] = addNode(std::move(node), static_cast<std::int32_t>(n));
      for (const std::int32_t id : from.outputs) {
        if (value(id) != nullptr) source_of_value_[id] = scene_->canvas_node[n];
      }
    }
  }

  void addOutputs() {
    for (std::size_t o = 0; o < graph_.outputs.size(); ++o) {
      const GraphValue* output = value(graph_.outputs[o]);
      if (output == nullptr) continue;
      CanvasNode node;
      node.title = graph_.outputs.size() == 1 ? "output" : "output " + std::to_string(o);
      node.facts = formatShape(output->type);
      node.group = KindGroup::kInputOutput;
      addEdge(graph_.outputs[o], addNode(std::move(node), -1));
    }
  }

  void addEdge(std::int32_t id, std::int32_t to) {
    std::vector<std::int32_t> open{id};
    // Values are defined before they are used, so this ends; the bound keeps hostile nesting short.
    for (std::size_t next = 0; next < open.size() && next < kMostCarried; ++next) {
      const std::int32_t carrier = value(open[next]) != nullptr ? carrier_of_value_[open[next]] : -1;
      if (carrier < 0) {
        addPlainEdge(open[next], to);
      } else {
        const auto& inputs = graph_.nodes[static_cast<std::size_t>(carrier)].inputs;
        open.insert(open.end(), inputs.begin(), inputs.end());
      }
    }
  }

  void addPlainEdge(std::int32_t id, std::int32_t to) {
    const GraphValue* carried = value(id);
    if (carried == nullptr || to < 0) return;
    const std::int32_t from = source_of_value_[id];
    if (from < 0 || from == to) return;
    const std::int64_t pair = (static_cast<std::int64_t>(from) << 32) | static_cast<std::uint32_t>(to);
    if (!pairs_.insert(pair).second) return;
    CanvasEdge edge;
    edge.from = from;
    edge.to = to;
    if (labelled_.insert(id).second) edge.label = edgeLabel(*carried);
    scene_->canvas.edges.push_back(std::move(edge));
  }

  static std::string edgeLabel(const GraphValue& carried) {
    std::string shape = formatShape(carried.type);
    const bool sizes = !shape.empty() && std::all_of(shape.begin(), shape.end(), [](char c) {
      return (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80 || c == '*';
    });
    return sizes ? shape : std::string();
  }

  void addEdges() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const GraphNode& node = graph_.nodes[n];
      bool inside = false;
      for (const std::int32_t id : node.inputs) {
        addEdge(id, scene_->canvas_node[n]);
        const GraphValue* input = value(id);
        if (input == nullptr || input->producer < 0) continue;
        const auto producer = static_cast<std::size_t>(input->producer);
        inside = inside || (producer < graph_.nodes.size() && graph_.nodes[producer].parent == node.parent);
      }
      // What a block begins with hangs on the block's owner.
      const auto parent = static_cast<std::size_t>(node.parent);
      if (node.parent < 0 || inside || parent >= graph_.nodes.size() || scene_->canvas_node[n] < 0) continue;
      if (scene_->canvas_node[parent] < 0) continue;
      CanvasEdge edge;
      edge.from = scene_->canvas_node[parent];
      edge.to = scene_->canvas_node[n];
      scene_->canvas.edges.push_back(std::move(edge));
    }
  }

  // The node that carries a row's time: of those that share origins the one that shares most, then the one of the same
  // kind, then the first.
  std::int32_t nodeOfRow(const OperationRow& row) const {
    std::int32_t best = -1;
    std::size_t best_score = 0;
    for (const std::int32_t n : nodesOf(index_, row.origins)) {
      if (scene_->canvas_node[n] < 0) continue;
      const auto& origins = graph_.nodes[n].origins;
      const auto shared = static_cast<std::size_t>(std::count_if(origins.begin(), origins.end(), [&](OriginId origin) {
        return std::binary_search(row.origins.begin(), row.origins.end(), origin);
      }));
      const std::size_t score = shared * 2 + (kindGroup(graph_.nodes[n].kind) == row.group ? 1 : 0);
      if (score > best_score) {
        best_score = score;
        best = n;
      }
    }
    return best < 0 ? -1 : scene_->canvas_node[best];
  }

  void addTimes() {
    std::vector<double> time_ns(scene_->canvas.nodes.size(), 0);
    std::vector<double> reorder_ns(scene_->canvas.nodes.size(), 0);
    for (std::size_t r = 0; r < run_.rows.size(); ++r) {
      const OperationRow& row = run_.rows[r];
      const std::int32_t n = nodeOfRow(row);
      if (n < 0) continue;
      scene_->rows[n].push_back(static_cast<std::int32_t>(r));
      const bool reorder = row.group == KindGroup::kReorder && scene_->canvas.nodes[n].group != KindGroup::kReorder;
      (reorder ? reorder_ns : time_ns)[n] += row.time.p50_ns;
      if (!run_.run->steps.empty() && row.step < 0) scene_->canvas.nodes[n].hatched = true;
    }
    const double slowest = time_ns.empty() ? 0 : *std::max_element(time_ns.begin(), time_ns.end());
    for (std::size_t n = 0; n < time_ns.size(); ++n) {
      if (time_ns[n] <= 0) continue;
      scene_->canvas.nodes[n].corner_text = formatTime(time_ns[n]);
      scene_->canvas.nodes[n].heat = static_cast<float>(time_ns[n] / slowest);
    }
    std::unordered_set<std::int32_t> paid;
    for (CanvasEdge& edge : scene_->canvas.edges) {
      if (reorder_ns[edge.to] <= 0 || !paid.insert(edge.to).second) continue;
      edge.cost = "reorder " + formatTime(reorder_ns[edge.to]);
    }
  }

  void sizeNode(CanvasNode* node) const {
    const float time = node->corner_text.empty() ? 0 : titleWidth(metrics_, node->corner_text) + kTimeGap;
    const float first = titleWidth(metrics_, node->title) + time;
    const float second = monoWidth(metrics_, node->facts);
    // Even numbers keep centres on whole pixels.
    const float width = std::clamp(std::max(first, second) + kSides, kLeastWidth, kMostWidth);
    node->size.width = 2 * static_cast<float>(static_cast<std::int32_t>(width / 2 + 0.5F));
    node->size.height = node->facts.empty() ? kPillHeight : kNodeHeight;
  }

  const GraphIndex& index_;
  const GraphSnapshot& graph_;
  const RunIndex& run_;
  const TextMetrics& metrics_;
  std::shared_ptr<GraphScene> scene_;
  std::vector<std::int32_t> source_of_value_;  // canvas node
  std::unordered_set<std::int64_t> pairs_;
  std::vector<std::int32_t> carrier_of_value_;  // node of the list or tuple; -1: none
  std::unordered_set<std::int32_t> labelled_;
};

}  // namespace

TextMetrics textMetrics(const Fonts& fonts, float scale) {
  TextMetrics metrics;
  for (int c = 32; c < 127; ++c) metrics.title[c] = fonts.text->GetCharAdvance(static_cast<ImWchar>(c)) / scale;
  metrics.mono = fonts.small_mono->GetCharAdvance('0') / scale;
  return metrics;
}

std::shared_ptr<const GraphScene> makeGraphScene(const GraphIndex& graph, const RunIndex& run,
                                                 const TextMetrics& metrics, const std::atomic<bool>* cancel) {
  return SceneBuilder(graph, run, metrics).build(cancel);
}

}  // namespace ipex_studio
