// Structure of a scene: its nodes, their places, and the ways of its edges. See graph_scene.h.
#include "studio/panels/graph/graph_scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "studio/panels/graph/graph_scene_builder.h"

namespace ipex_studio {
namespace {

constexpr float kMinWidth = 116;
constexpr float kMaxWidth = 292;
constexpr float kNodeHeight = 40;
constexpr float kSides = 28;  // width of a node's strip and padding
constexpr float kMarkWidth = 12;
constexpr float kTimeGap = 14;
// Every node has room for a time, so that nothing moves when the times arrive.
const std::string kTimeRoom = "00.00 ms";
// Frames further than this around their nodes would touch those of neighbours.
constexpr float kFramePad = 10;
constexpr std::size_t kMaxFrameItems = 400;
constexpr std::int32_t kMaxDistrictLevel = 4;
constexpr std::size_t kMaxDistricts = 200;  // more would be a grey map

float roundedWidth(float width) {
  // Even numbers keep centres on whole pixels.
  const float bounded = std::clamp(width, kMinWidth, kMaxWidth);
  return 2 * static_cast<float>(static_cast<std::int32_t>(bounded / 2 + 0.5F));
}

class SceneSizes : public ItemSizes {
 public:
  SceneSizes(const JobIndex& index, const GraphUnion& all, const TextMetrics& metrics) : all_(all), metrics_(metrics) {
    widths_.assign(static_cast<std::size_t>(all.slots), kMinWidth);
    std::vector<const std::string*> names(widths_.size(), nullptr);
    const float time = metrics.titleWidth(kTimeRoom) + kTimeGap + kMarkWidth;
    for (std::size_t g = 0; g < all.stages.size(); ++g) {
      const GraphSnapshot& graph = *index.graphs[g].graph;
      for (std::int32_t s = 0; s < all.slots; ++s) {
        const std::int32_t n = all.stages[g].node_of_slot[s];
        if (n < 0) continue;
        // A slot whose node keeps its name over a pass, as most do, needs no new width.
        const GraphNode& node = graph.nodes[n];
        // The name of a region lists all its operations; it is cut instead of given room.
        if (node.kind.find("::region") != std::string::npos) continue;
        const std::string& name = node.name.empty() ? node.kind : node.name;
        if (names[s] != nullptr && *names[s] == name) continue;
        names[s] = &name;
        const float first = metrics.titleWidth(nodeTitle(node)) + time;
        const float second = metrics.monoWidth(nodeFacts(graph, node));
        widths_[s] = std::max(widths_[s], std::max(first, second) + kSides);
      }
    }
  }

  LayoutSize slotSize(std::int32_t slot) const override { return {roundedWidth(widths_[slot]), kNodeHeight}; }
  LayoutSize moduleSize(std::int32_t module) const override {
    const float title = metrics_.titleWidth(all_.modules[module].path) + metrics_.titleWidth(kTimeRoom) + kTimeGap;
    return {roundedWidth(std::max(title, 170.F) + kSides + kMarkWidth), kNodeHeight};
  }

 private:
  const GraphUnion& all_;
  const TextMetrics& metrics_;
  std::vector<float> widths_;
};

bool looksLikeSizes(const std::string& shape) {
  return !shape.empty() && std::all_of(shape.begin(), shape.end(), [](char c) {
    return (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80 || c == '*';
  });
}

// Name of a conversion: "reorder", or "cast" if it changes the dtype.
std::string conversionName(const GraphSnapshot& graph, const GraphNode& node) {
  const std::size_t colon = node.kind.rfind("::");
  return displayText(node.kind.substr(colon == std::string::npos ? 0 : colon + 2), 24) +
         (node.kind == "aten::to" && !node.outputs.empty() && node.outputs.front() >= 0 &&
                  static_cast<std::size_t>(node.outputs.front()) < graph.values.size()
              ? " " + dtypeOf(graph.values[node.outputs.front()].type)
              : "");
}

}  // namespace

float TextMetrics::titleWidth(const std::string& text) const {
  float width = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 128) width += title[byte];
    if (byte >= 0xC0) width += title['o'];
  }
  return width;
}

float TextMetrics::monoWidth(const std::string& text) const {
  const auto letters =
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  return mono * static_cast<float>(letters);
}

TextMetrics textMetrics(const Fonts& fonts, float scale) {
  TextMetrics metrics;
  for (int c = 32; c < 127; ++c) metrics.title[c] = fonts.text->GetCharAdvance(static_cast<ImWchar>(c)) / scale;
  metrics.mono = fonts.small_mono->GetCharAdvance('0') / scale;
  return metrics;
}

std::string dtypeOf(const std::string& type) {
  constexpr std::array<std::pair<const char*, const char*>, 10> kShort = {{{"Float", "f32"},
                                                                           {"BFloat16", "bf16"},
                                                                           {"Half", "f16"},
                                                                           {"Double", "f64"},
                                                                           {"Long", "i64"},
                                                                           {"Int", "i32"},
                                                                           {"Char", "i8"},
                                                                           {"Byte", "u8"},
                                                                           {"QInt8", "i8"},
                                                                           {"Bool", "bool"}}};
  const std::string word = type.substr(0, std::min<std::size_t>(type.find('('), 16));
  for (const auto& [name, brief] : kShort) {
    if (word == name) return brief;
  }
  return {};
}

std::string nodeTitle(const GraphNode& node) {
  const std::size_t colon = node.kind.rfind("::");
  return displayText(!node.name.empty() ? node.name : node.kind.substr(colon == std::string::npos ? 0 : colon + 2), 60);
}

std::unique_ptr<ItemSizes> sceneSizes(const JobIndex& index, const GraphUnion& all, const TextMetrics& metrics) {
  return std::make_unique<SceneSizes>(index, all, metrics);
}

SceneBuilder::SceneBuilder(const JobRecord& job, const JobIndex& index, std::shared_ptr<const GraphUnion> all,
                           const UnionLayout& placed, const ScenePicture& picture)
    : job_(job),
      index_(index),
      all_(*all),
      placed_(placed),
      picture_(picture),
      graph_index_(index.graphs[static_cast<std::size_t>(picture.graph)]),
      graph_(*graph_index_.graph),
      stage_(all->stages[static_cast<std::size_t>(picture.graph)]),
      run_(picture.optimized ? index.optimized : index.baseline),
      scene_(std::make_shared<GraphScene>()) {
  scene_->all = std::move(all);
}

std::shared_ptr<const GraphScene> SceneBuilder::build(const std::atomic<bool>* cancel) {
  const auto stopped = [&] { return cancel != nullptr && cancel->load(std::memory_order_relaxed); };
  addNodes();
  if (stopped()) return nullptr;
  addEdges();
  if (stopped()) return nullptr;
  addTimes();
  addMarks();
  if (stopped()) return nullptr;
  scene_->canvas.index();
  addFrames();
  addDistricts();
  return scene_;
}

void SceneBuilder::describeSlot(std::int32_t slot, CanvasNode* node) {
  const std::int32_t n = stage_.node_of_slot[slot];
  if (n >= 0) {
    node->title = nodeTitle(graph_.nodes[n]);
    node->facts = nodeFacts(graph_, graph_.nodes[n]);
    node->group = kindGroup(graph_.nodes[n].kind);
    return;
  }
  node->group = KindGroup::kInputOutput;
  const bool input = slot < all_.inputs;
  const std::int32_t o = slot - (all_.slots - all_.outputs);
  const GraphValue* port = value(input ? graph_.inputs[slot] : graph_.outputs[o]);
  if (port == nullptr) return;
  node->title = input                        ? displayText(port->name.empty() ? "input" : port->name, 60)
                : graph_.outputs.size() == 1 ? std::string("output")
                                             : "output " + std::to_string(o);
  node->facts = formatShape(port->type);
}

void SceneBuilder::describeModule(std::int32_t module, CanvasNode* node) {
  node->title = displayText(all_.modules[module].path, 60);
  node->folded = true;
}

void SceneBuilder::addNodes() {
  CanvasScene& canvas = scene_->canvas;
  const std::vector<bool>& present = placed_.present[static_cast<std::size_t>(picture_.graph)];
  canvas_of_item_.assign(placed_.items.size(), -1);
  for (std::size_t i = 0; i < placed_.items.size(); ++i) {
    if (!present[i]) continue;
    const UnionItem& item = placed_.items[i];
    CanvasNode node;
    if (item.slot >= 0) {
      describeSlot(item.slot, &node);
    } else {
      describeModule(item.module, &node);
    }
    node.corner = placed_.layout.corners[i];
    node.size = placed_.graph.nodes[i];
    canvas_of_item_[i] = static_cast<std::int32_t>(canvas.nodes.size());
    canvas.nodes.push_back(std::move(node));
    scene_->graph_node.push_back(item.slot >= 0 ? std::max(stage_.node_of_slot[item.slot], -1) : -1);
    scene_->module.push_back(item.module);
  }
  scene_->rows.resize(canvas.nodes.size());
  scene_->canvas_node.assign(graph_.nodes.size(), -1);
  std::vector<std::int32_t> operations(canvas.nodes.size(), 0);
  std::vector<std::array<std::int32_t, kKindGroups>> groups(canvas.nodes.size());
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    const std::int32_t slot = stage_.slot_of_node[n];
    if (slot < 0) continue;
    const std::int32_t shown = canvas_of_item_[placed_.item_of_slot[slot]];
    scene_->canvas_node[n] = shown;
    ++operations[shown];
    ++groups[shown][static_cast<std::size_t>(kindGroup(graph_.nodes[n].kind))];
  }
  for (std::size_t c = 0; c < canvas.nodes.size(); ++c) {
    if (scene_->module[c] < 0) continue;
    canvas.nodes[c].facts = fmt::format("{} operation{} folded", operations[c], operations[c] == 1 ? "" : "s");
    const auto most = std::max_element(groups[c].begin(), groups[c].end());
    canvas.nodes[c].group = static_cast<KindGroup>(most - groups[c].begin());
  }
  canvas.layout.width = placed_.layout.width;
  canvas.layout.height = placed_.layout.height;
}

void SceneBuilder::labelEdge(const UnionEdge& from, CanvasEdge* edge) {
  const GraphValue* carried = value(from.value);
  if (carried == nullptr) return;
  const std::string shape = formatShape(carried->type);
  if (looksLikeSizes(shape)) edge->label = shape;
  edge->long_label = edge->label;
  const std::string dtype = dtypeOf(carried->type);
  if (!edge->label.empty() && !dtype.empty()) edge->long_label += " " + dtype;
  if (from.conversion >= 0) edge->cost = conversionName(graph_, graph_.nodes[from.conversion]);
}

void SceneBuilder::addEdges() {
  CanvasScene& canvas = scene_->canvas;
  edge_of_conversion_.assign(graph_.nodes.size(), -1);
  std::unordered_map<std::int64_t, std::int32_t> known;
  std::unordered_set<std::int32_t> labelled;
  for (const UnionEdge& from : stage_.edges) {
    const std::int32_t source = placed_.item_of_slot[from.from];
    const std::int32_t target = placed_.item_of_slot[from.to];
    CanvasEdge edge;
    edge.from = canvas_of_item_[source];
    edge.to = canvas_of_item_[target];
    if (source == target || edge.from < 0 || edge.to < 0) continue;
    const std::int64_t pair = (static_cast<std::int64_t>(edge.from) << 32) | static_cast<std::uint32_t>(edge.to);
    const auto [place, fresh] = known.emplace(pair, static_cast<std::int32_t>(canvas.edges.size()));
    if (from.conversion >= 0) edge_of_conversion_[from.conversion] = place->second;
    if (!fresh) continue;
    edge.value = from.value;
    labelEdge(from, &edge);
    // A value's label stands once, where it leaves its node.
    if (edge.cost.empty() && !labelled.insert(from.value).second) edge.label.clear();
    if (edge.label.empty()) edge.long_label.clear();
    LayoutRoute route;
    route.begin = static_cast<std::int32_t>(canvas.layout.points.size());
    findWay(placed_, static_cast<std::size_t>(picture_.graph), source, target, &canvas.layout.points);
    route.count = static_cast<std::int32_t>(canvas.layout.points.size()) - route.begin;
    canvas.layout.routes.push_back(route);
    canvas.edges.push_back(std::move(edge));
  }
}

// Adds frames around modules that hold nodes themselves and have nothing else between those.
void SceneBuilder::addFrames() {
  CanvasScene& canvas = scene_->canvas;
  std::vector<std::vector<std::int32_t>> members(all_.modules.size());
  for (std::size_t i = 0; i < placed_.items.size(); ++i) {
    const UnionItem& item = placed_.items[i];
    const std::int32_t module = item.slot >= 0 ? all_.module_of_slot[item.slot] : all_.modules[item.module].parent;
    if (canvas_of_item_[i] >= 0 && module >= 0) members[module].push_back(canvas_of_item_[i]);
  }
  std::vector<std::int32_t> inside;
  for (std::size_t m = 0; m < members.size(); ++m) {
    if (members[m].size() < 2 || members[m].size() > kMaxFrameItems) continue;
    CanvasFrame frame{
        {1e30F, 1e30F}, {-1e30F, -1e30F}, displayText(all_.modules[m].path, 60), static_cast<std::int32_t>(m)};
    for (const std::int32_t n : members[m]) {
      const CanvasNode& node = canvas.nodes[n];
      frame.low = {std::min(frame.low.x, node.corner.x), std::min(frame.low.y, node.corner.y)};
      frame.high = {std::max(frame.high.x, node.corner.x + node.size.width),
                    std::max(frame.high.y, node.corner.y + node.size.height)};
    }
    frame.low = {frame.low.x - kFramePad, frame.low.y - kFrameHead};
    frame.high = {frame.high.x + kFramePad, frame.high.y + kFramePad};
    canvas.node_index.query({frame.low.x, frame.low.y, frame.high.x, frame.high.y}, &inside);
    const bool alone = std::all_of(inside.begin(), inside.end(), [&](std::int32_t n) {
      const CanvasNode& node = canvas.nodes[n];
      const bool apart = node.corner.x >= frame.high.x || node.corner.x + node.size.width <= frame.low.x ||
                         node.corner.y >= frame.high.y || node.corner.y + node.size.height <= frame.low.y;
      return apart || std::find(members[m].begin(), members[m].end(), n) != members[m].end();
    });
    if (alone) canvas.frames.push_back(std::move(frame));
  }
}

// Adds the modules of the outermost level that has several, for the minimap.
void SceneBuilder::addDistricts() {
  const auto& modules = all_.modules;
  auto& boxes = scene_->canvas.districts;
  std::vector<std::int32_t> box_of(modules.size());
  for (std::int32_t level = 0; level < kMaxDistrictLevel && boxes.size() < 2; ++level) {
    std::vector<CanvasFrame> deeper;
    std::fill(box_of.begin(), box_of.end(), -1);
    for (std::size_t i = 0; i < placed_.items.size(); ++i) {
      const UnionItem& item = placed_.items[i];
      std::int32_t module = item.slot >= 0 ? all_.module_of_slot[item.slot] : item.module;
      while (module >= 0 && modules[module].depth > level) module = modules[module].parent;
      if (canvas_of_item_[i] < 0 || module < 0 || modules[module].depth != level) continue;
      if (box_of[module] < 0) {
        const std::string& path = modules[module].path;
        box_of[module] = static_cast<std::int32_t>(deeper.size());
        deeper.push_back({{1e30F, 1e30F}, {-1e30F, -1e30F}, displayText(path.substr(path.rfind('.') + 1), 20), module});
      }
      CanvasFrame& box = deeper[box_of[module]];
      const CanvasNode& node = scene_->canvas.nodes[canvas_of_item_[i]];
      box.low = {std::min(box.low.x, node.corner.x), std::min(box.low.y, node.corner.y)};
      box.high = {std::max(box.high.x, node.corner.x + node.size.width),
                  std::max(box.high.y, node.corner.y + node.size.height)};
    }
    if (deeper.empty()) break;
    boxes = std::move(deeper);
  }
  if (boxes.size() > kMaxDistricts) boxes.clear();
}

std::shared_ptr<const GraphScene> makeGraphScene(const JobRecord& job, const JobIndex& index,
                                                 std::shared_ptr<const GraphUnion> all, const UnionLayout& placed,
                                                 const ScenePicture& picture, const std::atomic<bool>* cancel) {
  return SceneBuilder(job, index, std::move(all), placed, picture).build(cancel);
}

}  // namespace ipex_studio
