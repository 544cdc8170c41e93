// Properties of a scene's nodes beyond their names: times, precision, kernels, errors, passes, and what changed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "studio/panels/graph/graph_scene_builder.h"

namespace ipex_studio {
namespace {

// Colours of Theme::kinds that are easiest to tell apart, in the order of use.
constexpr std::int8_t kTints[] = {0, 7, 3, 1, 4, 6, 8};
constexpr std::int8_t kNeutralTint = 9;
constexpr std::size_t kMaxLegend = 7;
// Signal over error, in dB, at which errors begin to be drawn, and at which the bar is full.
constexpr double kHarmlessDb = 120;
constexpr double kWorstDb = 20;

// Name of a kernel without its ISA: "brgconv_1x1" of "brgconv_1x1:avx512_core".
std::string shortKernel(const std::string& kernel) { return displayText(kernel.substr(0, kernel.find(':')), 28); }

// Word for the conversions on one edge: that of `row` if it is the first, or of the same kind as those before it, whose
// word is `before` (null: none).
const char* wordOfConversions(const char* before, const OperationRow& row) {
  const char* word = row.kind == "cast" ? "cast" : "reorder";
  return before == nullptr || std::string(before) == word ? word : "conversions";
}

}  // namespace

const char* colorByName(ColorBy color_by) {
  constexpr const char* kNames[kColorings] = {"time", "precision", "kernel", "error", "pass"};
  return kNames[static_cast<std::size_t>(color_by)];
}

// The node that carries a row's time: among those that share origins with it, the one that shares most, then one of
// the same kind, then the first. Conversions drawn on edges count, too.
std::int32_t SceneBuilder::nodeOfRow(const OperationRow& row) const {
  std::int32_t best = -1;
  std::size_t best_score = 0;
  for (const std::int32_t n : nodesOf(graph_index_, row.origins)) {
    if (scene_->canvas_node[n] < 0 && edge_of_conversion_[n] < 0) continue;
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
  return best;
}

void SceneBuilder::addTimes() {
  CanvasScene& canvas = scene_->canvas;
  time_ns_.assign(canvas.nodes.size(), 0);
  std::vector<double> reorder_ns(canvas.nodes.size(), 0);
  std::vector<const char*> reorder_word(canvas.nodes.size(), nullptr);
  std::map<std::int32_t, double> conversion_ns;  // time of conversions by edge
  std::unordered_map<std::int32_t, std::string> layout_of_node;
  for (std::size_t r = 0; r < run_.rows.size(); ++r) {
    const OperationRow& row = run_.rows[r];
    const std::int32_t n = nodeOfRow(row);
    if (n < 0) continue;
    const std::int32_t shown = scene_->canvas_node[n];
    if (shown < 0) {
      conversion_ns[edge_of_conversion_[n]] += row.time.p50_ns;
      scene_->rows[canvas.edges[edge_of_conversion_[n]].to].push_back(static_cast<std::int32_t>(r));
      continue;
    }
    scene_->rows[shown].push_back(static_cast<std::int32_t>(r));
    const bool reorder = row.group == KindGroup::kReorder && kindGroup(graph_.nodes[n].kind) != KindGroup::kReorder;
    const bool on_edge = reorder && scene_->module[shown] < 0;
    (on_edge ? reorder_ns : time_ns_)[shown] += row.time.p50_ns;
    if (on_edge) reorder_word[shown] = wordOfConversions(reorder_word[shown], row);
    if (!reorder) layout_of_node[shown] = row.layout;
    if (!run_.run->steps.empty() && row.step < 0) canvas.nodes[shown].hatched = true;
  }
  std::unordered_set<std::int32_t> paid;
  for (std::size_t e = 0; e < canvas.edges.size(); ++e) {
    CanvasEdge& edge = canvas.edges[e];
    const auto converted = conversion_ns.find(static_cast<std::int32_t>(e));
    if (converted != conversion_ns.end()) edge.cost += " " + formatTime(converted->second);
    if (reorder_ns[edge.to] > 0 && paid.insert(edge.to).second) {
      edge.cost += fmt::format("{}{} {}", edge.cost.empty() ? "" : " + ", reorder_word[edge.to],
                               formatTime(reorder_ns[edge.to]));
    }
    const auto layout = layout_of_node.find(edge.from);
    if (edge.label.empty() || layout == layout_of_node.end() || layout->second.empty()) continue;
    // An edge that leaves a node has the layout behind the arrow.
    const std::size_t arrow = layout->second.rfind("→");
    edge.long_label +=
        " " + (arrow == std::string::npos ? layout->second : layout->second.substr(arrow + std::string("→").size()));
  }
  // A reorder without an input edge counts for the node itself.
  for (std::size_t n = 0; n < canvas.nodes.size(); ++n) {
    if (reorder_ns[n] > 0 && paid.count(static_cast<std::int32_t>(n)) == 0) time_ns_[n] += reorder_ns[n];
    if (time_ns_[n] > 0) canvas.nodes[n].corner_text = formatTime(time_ns_[n]);
  }
  switch (picture_.color_by) {
    case ColorBy::kTime:
      return colorByTime();
    case ColorBy::kPrecision:
      return colorByPrecision();
    case ColorBy::kKernel:
      return colorByKernel();
    case ColorBy::kError:
      return colorByError();
    case ColorBy::kPass:
      return colorByPass();
  }
}

void SceneBuilder::colorByTime() {
  CanvasScene& canvas = scene_->canvas;
  const double slowest = time_ns_.empty() ? 0 : *std::max_element(time_ns_.begin(), time_ns_.end());
  std::array<bool, kKindGroups> seen{};
  for (std::size_t n = 0; n < time_ns_.size(); ++n) {
    if (time_ns_[n] > 0) canvas.nodes[n].heat = static_cast<float>(time_ns_[n] / slowest);
    seen[static_cast<std::size_t>(canvas.nodes[n].group)] = true;
  }
  for (int g = 0; g < kKindGroups; ++g) {
    if (seen[g]) scene_->legend.push_back({static_cast<std::int8_t>(g), kindGroupName(static_cast<KindGroup>(g))});
  }
}

// The slowest row that a node carries; its precision and kernel are the node's.
const OperationRow* SceneBuilder::mainRow(std::size_t canvas_node) const {
  const OperationRow* main = nullptr;
  for (const std::int32_t r : scene_->rows[canvas_node]) {
    const OperationRow& row = run_.rows[r];
    if (row.group == KindGroup::kReorder && main != nullptr) continue;
    const bool better = main == nullptr || main->group == KindGroup::kReorder || row.time.p50_ns > main->time.p50_ns;
    if (better) main = &row;
  }
  return main;
}

void SceneBuilder::colorByText(const std::vector<std::string>& texts, bool in_corner) {
  CanvasScene& canvas = scene_->canvas;
  struct Weight {
    double time_ns = 0;
    std::int32_t nodes = 0;
  };
  std::map<std::string, Weight> weights;
  for (std::size_t n = 0; n < texts.size(); ++n) {
    if (texts[n].empty()) continue;
    weights[texts[n]].time_ns += time_ns_[n];
    ++weights[texts[n]].nodes;
  }
  std::vector<std::pair<std::string, Weight>> order(weights.begin(), weights.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second.time_ns != b.second.time_ns ? a.second.time_ns > b.second.time_ns : a.second.nodes > b.second.nodes;
  });
  std::unordered_map<std::string, std::int8_t> tint_of;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool own = i < std::size(kTints);
    tint_of[order[i].first] = own ? kTints[i] : kNeutralTint;
    if (i >= kMaxLegend) continue;
    const Weight& weight = order[i].second;
    const std::string size = weight.time_ns > 0 ? formatTime(weight.time_ns)
                                                : fmt::format("{} node{}", weight.nodes, weight.nodes == 1 ? "" : "s");
    scene_->legend.push_back({tint_of[order[i].first], order[i].first + "  " + size});
  }
  if (order.size() > kMaxLegend)
    scene_->legend.push_back({kNeutralTint, fmt::format("{} more", order.size() - kMaxLegend)});
  for (std::size_t n = 0; n < texts.size(); ++n) {
    CanvasNode& node = canvas.nodes[n];
    node.tint = texts[n].empty() ? kNeutralTint : tint_of[texts[n]];
    if (texts[n].empty()) continue;
    (in_corner ? node.corner_text : node.facts) = texts[n];
  }
}

void SceneBuilder::colorByPrecision() {
  std::vector<std::string> texts(scene_->canvas.nodes.size());
  for (std::size_t n = 0; n < texts.size(); ++n) {
    const OperationRow* row = mainRow(n);
    if (row != nullptr) texts[n] = row->precision;
    const std::int32_t node = scene_->graph_node[n];
    if (!texts[n].empty() || node < 0 || graph_.nodes[node].outputs.empty()) continue;
    // Without a measured row the dtype in the graph is shown.
    const GraphValue* output = value(graph_.nodes[node].outputs.front());
    if (output != nullptr) texts[n] = dtypeOf(output->type);
    if (texts[n] == "f32") texts[n] = "fp32";
  }
  colorByText(texts, true);
}

void SceneBuilder::colorByKernel() {
  std::vector<std::string> texts(scene_->canvas.nodes.size());
  for (std::size_t n = 0; n < texts.size(); ++n) {
    const OperationRow* row = mainRow(n);
    if (row != nullptr && scene_->module[n] < 0) texts[n] = shortKernel(row->kernel);
  }
  colorByText(texts, false);
}

void SceneBuilder::colorByError() {
  CanvasScene& canvas = scene_->canvas;
  std::vector<double> worst(canvas.nodes.size(), 1e9);
  if (run_.run != nullptr) {
    for (const AccuracyRecord& accuracy : run_.run->node_accuracy) {
      for (const std::int32_t n : nodesOf(graph_index_, accuracy.origins)) {
        const std::int32_t shown = scene_->canvas_node[n];
        if (shown >= 0) worst[shown] = std::min(worst[shown], accuracy.sqnr_db);
      }
    }
  }
  bool any = false;
  for (std::size_t n = 0; n < worst.size(); ++n) {
    CanvasNode& node = canvas.nodes[n];
    node.tint = kNeutralTint;
    node.heat_is_bad = true;
    if (worst[n] > 1e8 || !std::isfinite(worst[n])) {
      node.corner_text.clear();
      continue;
    }
    any = true;
    node.corner_text = worst[n] >= kSqnrOfEqual ? "exact" : fmt::format("{:.0f} dB", worst[n]);
    node.heat = static_cast<float>(std::clamp((kHarmlessDb - worst[n]) / (kHarmlessDb - kWorstDb), 0.0, 1.0));
  }
  scene_->legend.push_back({kNeutralTint, any ? "signal over error of each result; a longer bar is a larger error"
                                              : "errors of single nodes were not measured in this run"});
}

// Colours nodes by the last pass, up to the shown one, that had a hand in them.
void SceneBuilder::colorByPass() {
  std::unordered_map<std::string, std::int32_t> position;
  for (std::size_t p = 0; p < job_.passes.size(); ++p)
    position.emplace(job_.passes[p].name, static_cast<std::int32_t>(p));
  const std::int32_t last = picture_.stage <= 0 ? -1 : index_.stages[picture_.stage].pass;
  std::vector<std::int32_t> pass_of(scene_->canvas.nodes.size(), -1);
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    const std::int32_t shown = scene_->canvas_node[n];
    if (shown < 0) continue;
    for (const std::int32_t r : remarksOf(index_, graph_.nodes[n].origins)) {
      const Remark& remark = job_.remarks[r];
      const auto pass = position.find(remark.pass);
      if (remark.kind != RemarkKind::kApplied || pass == position.end() || pass->second > last) continue;
      pass_of[shown] = std::max(pass_of[shown], pass->second);
    }
  }
  std::vector<std::string> texts(pass_of.size());
  for (std::size_t n = 0; n < texts.size(); ++n) {
    if (pass_of[n] >= 0) texts[n] = displayText(job_.passes[pass_of[n]].name, 40);
  }
  colorByText(texts, false);
  scene_->legend.push_back({kNeutralTint, "untouched"});
}

CanvasMark SceneBuilder::markOf(const GraphNode& node) const {
  const GraphIndex& other = index_.graphs[static_cast<std::size_t>(picture_.compared)];
  const std::vector<std::int32_t> matches = nodesOf(other, node.origins);
  if (matches.empty()) {
    if (node.origins.empty()) return CanvasMark::kNone;
    return picture_.compared_is_later ? CanvasMark::kRemoved : CanvasMark::kAdded;
  }
  if (matches.size() > 1) return CanvasMark::kChanged;
  const GraphNode& match = other.graph->nodes[matches.front()];
  const bool same = match.kind == node.kind && match.origins == node.origins && match.attributes == node.attributes &&
                    match.inputs.size() == node.inputs.size();
  return same ? CanvasMark::kNone : CanvasMark::kChanged;
}

void SceneBuilder::addMarks() {
  if (picture_.compared < 0 || picture_.compared == picture_.graph) return;
  CanvasScene& canvas = scene_->canvas;
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    const std::int32_t shown = scene_->canvas_node[n];
    if (shown < 0) continue;
    const CanvasMark mark = markOf(graph_.nodes[n]);
    if (mark == CanvasMark::kNone) continue;
    // A folded module counts as changed if any node in it is.
    canvas.nodes[shown].mark = scene_->module[shown] >= 0 ? CanvasMark::kChanged : mark;
  }
}

}  // namespace ipex_studio
