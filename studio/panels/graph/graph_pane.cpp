// See graph_pane.h.
#include "studio/panels/graph/graph_pane.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ipex_studio {

bool GraphPane::refresh(const SceneKey& wanted, bool follow) {
  if (scene_ && key_ == wanted) return true;
  std::shared_ptr<const GraphScene> scene = ui_.scenes->get(side_, wanted);
  if (!scene) return false;
  if (scene_ && follow) {
    // A view that the user has not moved keeps showing the beginning while the graph grows.
    const bool grew = wanted.index != key_.index || !(wanted.fold == key_.fold);
    if (grew && selected_.empty() && canvas_.atStart()) {
      canvas_.requestStart();
    } else {
      followAnchor(*scene, wanted);
    }
  }
  // For the pane's first scene the view may have been taken over from another layout.
  if (!scene_ && canvas_.atStart()) canvas_.requestStart();
  canvas_.trace(-1);
  scene_ = std::move(scene);
  key_ = wanted;
  selection_generation_ = ~0ULL;
  return true;
}

// The anchor is the selected node nearest to the middle of the view, else any node nearest to it. Scrubbing moves
// nothing; folding, and news of a running job, do.
void GraphPane::followAnchor(const GraphScene& fresh, const SceneKey& key) {
  if (key.index == key_.index && key.fold == key_.fold) return;
  const LayoutPoint middle = canvas_.centre();
  std::int32_t anchor = -1;
  float nearest = 1e30F;
  const auto consider = [&](std::int32_t n) {
    const CanvasNode& node = scene_->canvas.nodes[n];
    const float dx = node.corner.x + node.size.width / 2 - middle.x;
    const float dy = node.corner.y + node.size.height / 2 - middle.y;
    if (dx * dx + dy * dy >= nearest) return;
    nearest = dx * dx + dy * dy;
    anchor = n;
  };
  for (const std::int32_t n : selected_) consider(n);
  if (anchor < 0) {
    for (std::size_t n = 0; n < scene_->canvas.nodes.size(); ++n) consider(static_cast<std::int32_t>(n));
  }
  if (anchor < 0) return;
  // The anchor's new place is that of any node of the old graph that it showed.
  const GraphIndex& now = key.index->graphs[key.picture.graph];
  for (std::size_t n = 0; n < scene_->canvas_node.size(); ++n) {
    if (scene_->canvas_node[n] != anchor) continue;
    for (const std::int32_t match : nodesOf(now, graph().nodes[n].origins)) {
      const std::int32_t to = fresh.canvas_node[match];
      if (to < 0) continue;
      const CanvasNode& was = scene_->canvas.nodes[anchor];
      const CanvasNode& is = fresh.canvas.nodes[to];
      canvas_.follow({was.corner.x + was.size.width / 2, was.corner.y}, {is.corner.x + is.size.width / 2, is.corner.y});
      return;
    }
  }
}

void GraphPane::syncSelection(const Selection& selection) {
  if (selection_generation_ != selection.generation()) {
    selection_generation_ = selection.generation();
    selected_.clear();
    for (const std::int32_t n : nodesOf(key_.index->graphs[key_.picture.graph], selection.origins())) {
      if (scene_->canvas_node[n] >= 0) selected_.push_back(scene_->canvas_node[n]);
    }
    std::sort(selected_.begin(), selected_.end());
    selected_.erase(std::unique(selected_.begin(), selected_.end()), selected_.end());
  }
  if (reveal_generation_ != selection.revealGeneration()) {
    reveal_generation_ = selection.revealGeneration();
    canvas_.reveal(selected_);
  }
}

void GraphPane::draw(Selection& selection, ModuleFold* fold) {
  syncSelection(selection);
  const CanvasResult result = canvas_.draw("canvas", ImGui::GetContentRegionAvail(), scene_->canvas, selected_,
                                           ui_.theme, ui_.fonts, ui_.scale);
  handle(result, selection, fold);
  drawMenu(selection);
}

// Where the selected node ends on the screen, within the pane.
ImVec2 GraphPane::belowSelected() const {
  const ImVec2 at = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
  if (selected_.empty()) return at;
  const CanvasNode& node = scene_->canvas.nodes[selected_.front()];
  const float pixels = canvas_.zoom() * ui_.scale, inner = ui_.px(8);
  const float x = at.x + size.x / 2 + (node.corner.x - canvas_.centre().x) * pixels;
  const float y = at.y + size.y / 2 + (node.corner.y + node.size.height - canvas_.centre().y) * pixels;
  return {std::clamp(x, at.x + inner, at.x + size.x - inner), std::clamp(y, at.y + inner, at.y + size.y - inner)};
}

// Draws the menu of the selected node: what can be done with it, and what the tabs know of it.
void GraphPane::drawMenu(Selection& selection) {
  if (std::exchange(opens_menu_, false)) {
    ImGui::OpenPopup("node");
    if (std::exchange(menu_by_key_, false)) ImGui::SetNextWindowPos(belowSelected());
  }
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {ui_.px(8), ui_.px(8)});
  if (beginMenu("node")) {
    const CanvasNode* node = selected_.empty() ? nullptr : &scene_->canvas.nodes[selected_.front()];
    if (node == nullptr) ImGui::CloseCurrentPopup();
    static constexpr std::pair<const char*, const char*> kLines[] = {{"Its values", "values.compute"},
                                                                     {"Its lines of the source", "tab.source"},
                                                                     {"Its time", "tab.operations"},
                                                                     {"Its kernels", "tab.kernels"},
                                                                     {"Its remarks", "tab.remarks"},
                                                                     {"Zoom to it", "graph.zoom-selection"},
                                                                     {"Mark all who read it", "graph.trace"},
                                                                     {"Fold its module", "graph.fold"},
                                                                     {"Unfold it", "graph.unfold"}};
    for (const auto& [text, action] : kLines) {
      const bool unfolds = action == std::string("graph.unfold");
      if (unfolds && (node == nullptr || !node->folded)) continue;
      if (menuLine(ui_, text)) selection.request(action);
    }
    if (node != nullptr && menuLine(ui_, "Copy the name")) ImGui::SetClipboardText(node->title.c_str());
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar();
}

std::int32_t GraphPane::moduleOf(std::int32_t n) const {
  if (scene_->module[n] >= 0) return scene_->module[n];
  const std::int32_t node = scene_->graph_node[n];
  if (node < 0) return -1;
  const std::int32_t slot = scene_->all->stages[key_.picture.graph].slot_of_node[node];
  return slot < 0 ? -1 : scene_->all->module_of_slot[slot];
}

void GraphPane::selectNode(std::int32_t n, Selection& selection, bool reveal) const {
  const std::int32_t node = scene_->graph_node[n];
  if (node >= 0) {
    selection.select(graph().nodes[node].origins, reveal);
    return;
  }
  std::vector<OriginId> origins;
  for (std::size_t inner = 0; inner < scene_->canvas_node.size(); ++inner) {
    if (scene_->canvas_node[inner] != n) continue;
    const auto& more = graph().nodes[inner].origins;
    origins.insert(origins.end(), more.begin(), more.end());
  }
  if (!origins.empty()) selection.select(std::move(origins), reveal);
}

void GraphPane::handle(const CanvasResult& result, Selection& selection, ModuleFold* fold) {
  if (result.clicked_ground) {
    selection.clear();
    canvas_.trace(-1);
  }
  if (result.double_clicked >= 0) {
    const std::int32_t module = scene_->module[result.double_clicked];
    if (module >= 0) {
      fold->setClosed(scene_->all->modules[module].path, false);
    } else {
      canvas_.zoomTo({result.double_clicked});
    }
  } else if (result.clicked >= 0) {
    canvas_.trace(-1);
    // The other side moves to its counterpart; this side has it in view already.
    selectNode(result.clicked, selection, true);
  }
  if (result.clicked_frame >= 0) {
    const std::int32_t module = scene_->canvas.frames[result.clicked_frame].module;
    fold->setClosed(scene_->all->modules[module].path, true);
  }
  if (result.clicked_edge >= 0) {
    const std::int32_t value = scene_->canvas.edges[result.clicked_edge].value;
    canvas_.trace(canvas_.traced() == value ? -1 : value);
  }
  if (result.menu >= 0) {
    selectNode(result.menu, selection, false);
    opens_menu_ = true;
  }
  if (result.hovered >= 0) showNodeTooltip(result.hovered);
  if (result.hovered_edge >= 0) showEdgeTooltip(result.hovered_edge);
}

void GraphPane::showNodeTooltip(std::int32_t n) const {
  const CanvasNode& node = scene_->canvas.nodes[n];
  std::string text = node.title;
  const std::int32_t index = scene_->graph_node[n];
  if (index >= 0) text += "\n" + displayText(graph().nodes[index].kind, 80);
  if (!node.facts.empty()) text += "\n" + node.facts;
  if (!node.corner_text.empty()) text += "\n" + node.corner_text;
  if (node.hatched) text += "\nleft to the interpreter";
  if (index >= 0 && graph().nodes[index].origins.size() > 1)
    text += fmt::format("\nmade of {} original nodes", graph().nodes[index].origins.size());
  if (node.mark == CanvasMark::kAdded) text += "\nadded: the other side does not have it";
  if (node.mark == CanvasMark::kRemoved) text += "\nremoved: the other side does not have it";
  if (node.mark == CanvasMark::kChanged) text += "\nchanged against the other side";
  if (node.folded) text += "\nDouble-click, or +, to unfold";
  tooltip(text);
}

void GraphPane::showEdgeTooltip(std::int32_t e) const {
  const CanvasEdge& edge = scene_->canvas.edges[e];
  std::string text;
  if (edge.value >= 0 && static_cast<std::size_t>(edge.value) < graph().values.size()) {
    const GraphValue& value = graph().values[edge.value];
    text = "%" + displayText(value.name, 80) + "\n" + displayText(value.type, 160);
  }
  if (!edge.cost.empty()) text += (text.empty() ? "" : "\n") + edge.cost + ", paid here";
  const auto users = std::count_if(scene_->canvas.edges.begin(), scene_->canvas.edges.end(),
                                   [&](const CanvasEdge& other) { return other.value == edge.value; });
  if (edge.value >= 0) text += fmt::format("\nread by {} node{}", users, users == 1 ? "" : "s");
  if (!text.empty()) tooltip(text + "\nClick to mark all who read it");
}

void GraphPane::step(Selection& selection, bool to_users) const {
  const CanvasScene& canvas = scene_->canvas;
  if (selected_.empty()) {
    // From nowhere to the first node that can be selected.
    for (std::size_t n = 0; n < canvas.nodes.size() && selection.empty(); ++n)
      selectNode(static_cast<std::int32_t>(n), selection, true);
    return;
  }
  const std::int32_t from = selected_.front();
  std::int32_t best = -1;
  for (std::int32_t i = canvas.edges_of_begin[from]; i < canvas.edges_of_begin[from + 1]; ++i) {
    const CanvasEdge& edge = canvas.edges[canvas.edges_of[i]];
    const std::int32_t other = to_users ? edge.to : edge.from;
    if ((to_users ? edge.from : edge.to) != from) continue;
    // Inputs and outputs have no origins, so nothing can select them.
    if (scene_->graph_node[other] < 0 && scene_->module[other] < 0) continue;
    if (best < 0) best = other;
  }
  if (best >= 0) selectNode(best, selection, true);
}

void GraphPane::foldSelected(ModuleFold* fold, bool close) const {
  for (const std::int32_t n : selected_) {
    const std::int32_t folded = scene_->module[n];
    if (!close && folded >= 0) fold->setClosed(scene_->all->modules[folded].path, false);
    if (!close) continue;
    const std::int32_t module = folded >= 0 ? scene_->all->modules[folded].parent : moduleOf(n);
    if (module >= 0) fold->setClosed(scene_->all->modules[module].path, true);
  }
}

std::vector<std::int32_t> GraphPane::modulesShown(bool folded) const {
  std::vector<std::int32_t> found;
  for (std::size_t n = 0; n < scene_->module.size(); ++n) {
    std::int32_t module = scene_->module[n];
    if (!folded) module = module < 0 ? moduleOf(static_cast<std::int32_t>(n)) : scene_->all->modules[module].parent;
    if (module >= 0) found.push_back(module);
  }
  return found;
}

void GraphPane::act(Selection& selection, ModuleFold* fold, bool active) {
  if (!scene_ || !active) return;
  if (selection.take("graph.menu")) opens_menu_ = menu_by_key_ = !selected_.empty();
  if (selection.take("graph.producer")) step(selection, false);
  if (selection.take("graph.consumer")) step(selection, true);
  if (selection.take("graph.fold")) foldSelected(fold, true);
  if (selection.take("graph.unfold")) foldSelected(fold, false);
  if (selection.take("graph.fold-all")) {
    for (const UnionModule& module : scene_->all->modules)
      if (module.parent < 0) fold->setClosed(module.path, true);
  }
  if (selection.take("graph.unfold-all")) {
    for (const UnionModule& module : scene_->all->modules) fold->setClosed(module.path, false);
  }
  if (selection.take("graph.trace") && !selected_.empty()) {
    const CanvasScene& canvas = scene_->canvas;
    for (const CanvasEdge& edge : canvas.edges) {
      if (edge.from != selected_.front()) continue;
      canvas_.trace(canvas_.traced() == edge.value ? -1 : edge.value);
      break;
    }
  }
}

}  // namespace ipex_studio
