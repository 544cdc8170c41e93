// See node_search.h.
#include "studio/panels/graph/node_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ipex_studio {

void NodeSearch::draw(float points, const GraphPane& pane, Selection& selection, ModuleFold* fold) {
  ImGui::SetCursorPos({ui_.px(10), std::floor(ui_.px(5))});
  const float width = ui_.px(points);
  ImGui::SetNextItemWidth(width);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {ui_.px(9), std::floor(ui_.px(4))});
  if (focus_) ImGui::SetKeyboardFocusHere();
  focus_ = false;
  const bool entered = ImGui::InputTextWithHint("##search", "search nodes  /", text_.data(), text_.size(),
                                                ImGuiInputTextFlags_EnterReturnsTrue);
  ImGui::PopStyleVar();
  tabField(ui_);
  if (text_[0] == 0 || pane.scene() == nullptr) return;
  const GraphSnapshot* graph = pane.key().index->graphs[pane.key().picture.graph].graph.get();
  if (searched_ != graph) finder_.read(*graph);
  searched_ = graph;
  const auto& hits = finder_.find(text_.data());
  const std::string count = hits.empty() ? "none" : fmt::format("{}", hits.size());
  ImFont* font = ui_.fonts.head;
  const float count_width = font->CalcTextSizeA(font->FontSize, 1e6F, 0, count.c_str()).x;
  const ImVec2 high = ImGui::GetItemRectMax();
  ImGui::GetWindowDrawList()->AddText(
      font, font->FontSize,
      {std::floor(high.x - count_width - ui_.px(8)), std::floor(ImGui::GetItemRectMin().y + ui_.px(4))},
      hits.empty() ? ui_.theme.warning : ui_.theme.dim, count.c_str());
  if (!entered) return;
  ImGui::SetKeyboardFocusHere(-1);
  next(ImGui::GetIO().KeyShift ? -1 : 1, pane, selection, fold);
}

void NodeSearch::next(int direction, const GraphPane& pane, Selection& selection, ModuleFold* fold) {
  const auto& hits = finder_.hits();
  const GraphScene* scene = pane.scene();
  if (hits.empty() || scene == nullptr) return;
  const auto place = std::lower_bound(hits.begin(), hits.end(), last_hit_);
  std::size_t next = 0;
  if (direction > 0) {
    const auto after = place != hits.end() && *place == last_hit_ ? place + 1 : place;
    next = after == hits.end() ? 0 : static_cast<std::size_t>(after - hits.begin());
  } else {
    next = place == hits.begin() ? hits.size() - 1 : static_cast<std::size_t>(place - hits.begin()) - 1;
  }
  last_hit_ = hits[next];
  const SceneKey& key = pane.key();
  const std::int32_t slot = scene->all->stages[key.picture.graph].slot_of_node[last_hit_];
  for (std::int32_t m = slot < 0 ? -1 : scene->all->module_of_slot[slot]; m >= 0; m = scene->all->modules[m].parent)
    if (scene->canvas_node[last_hit_] >= 0 && scene->module[scene->canvas_node[last_hit_]] >= 0)
      fold->setClosed(scene->all->modules[m].path, false);
  selection.select(key.index->graphs[key.picture.graph].graph->nodes[last_hit_].origins, true);
}

}  // namespace ipex_studio
