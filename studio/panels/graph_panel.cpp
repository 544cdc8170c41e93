// The canvases: the graph before and after any pass side by side, with one selection.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "studio/graph_canvas.h"
#include "studio/imgui_compat.h"
#include "studio/panels/panel_list.h"
#include "studio/panels/scene_service.h"

namespace ipex_studio {
namespace {

enum class Side { kBefore = 0, kAfter = 1 };
enum class Arrangement { kBefore, kSplit, kAfter };

// One canvas and what it shows.
struct Pane {
  GraphCanvas canvas;
  std::shared_ptr<const GraphScene> scene;
  SceneKey key;  // of `scene`
  std::uint64_t selection_generation = ~0ULL;
  std::uint64_t reveal_generation = 0;
  std::vector<std::int32_t> selected;  // canvas nodes
};

std::string lowered(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

class GraphPanel : public Panel {
 public:
  explicit GraphPanel(const Ui& ui) : ui_(ui) {}
  const char* name() const override { return "graph"; }
  const char* title() const override { return "Graph"; }
  PanelPlace place() const override { return PanelPlace::kCentre; }
  bool settled() const override { return settled_; }

  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) override {
    settled_ = true;
    const JobIndex& index = *snapshot.index;
    if (index.stages.empty()) {
      panelHead(ui_, "Graph");
      drawEmpty(snapshot);
      return;
    }
    drawHead(index, selection);
    const float width = ImGui::GetWindowWidth();
    const float half = std::floor(width / 2);
    if (arrangement_ == Arrangement::kSplit) {
      drawPane(Side::kBefore, half, snapshot, selection);
      ImGui::SameLine(0, 0);
      const ImVec2 at = ImGui::GetCursorScreenPos();
      drawPane(Side::kAfter, width - half, snapshot, selection);
      ImGui::GetWindowDrawList()->AddLine({at.x, ImGui::GetWindowPos().y}, {at.x, at.y + ImGui::GetWindowHeight()},
                                          ui_.theme.line);
    } else {
      drawPane(arrangement_ == Arrangement::kBefore ? Side::kBefore : Side::kAfter, width, snapshot, selection);
    }
  }

 private:
  void drawEmpty(const StudioSnapshot& snapshot) const {
    if (snapshot.status.state == JobState::kWorking) {
      emptyState(ui_, "Reading the model", "The graph appears here as soon as it is loaded and frozen.");
    } else if (snapshot.status.state == JobState::kFailed) {
      emptyState(
          ui_, "There is no graph to show",
          snapshot.status.message.empty() ? "The log below says why." : displayText(snapshot.status.message, 400));
    } else {
      emptyState(ui_, "Open a TorchScript model",
                 "Start with: ipex-studio MODEL.pt. A profile.db with recorded runs opens the same way.");
    }
  }

  static std::int32_t stageOf(Side side, const JobIndex& index, const Selection& selection) {
    const auto last = static_cast<std::int32_t>(index.stages.size()) - 1;
    if (side == Side::kBefore) return std::clamp(selection.before_stage, 0, last);
    return selection.after_stage < 0 ? index.default_stage : std::min(selection.after_stage, last);
  }

  std::string headText(Side side, const JobIndex& index, const Selection& selection) const {
    const std::int32_t stage = stageOf(side, index, selection);
    const std::string name = index.stages[stage].name;
    if (side == Side::kBefore) return "Before: " + name;
    return stage == 0 ? "After: –" : fmt::format("After: {} · {}", stage, name);
  }

  void drawHead(const JobIndex& index, Selection& selection) {
    panelHead(ui_, "");
    const ImVec2 after_head = ImGui::GetCursorPos();
    const float height = ui_.px(kHeadPoints);
    const float width = ImGui::GetWindowWidth();
    const float centre_text = std::floor((height - ui_.fonts.head->FontSize) / 2);
    drawSearch(selection);
    const bool split = arrangement_ == Arrangement::kSplit;
    if (arrangement_ != Arrangement::kAfter) {
      ImGui::SetCursorPosY(centre_text);
      labelRight(ui_.theme.dim, headText(Side::kBefore, index, selection),
                 (split ? width / 2 : width - ui_.px(250)) - ui_.px(14), ui_.fonts.head);
    }
    if (arrangement_ != Arrangement::kBefore) {
      ImGui::SetCursorPos({split ? std::floor(width / 2) + ui_.px(14) : ui_.px(230), centre_text});
      const float room = width - ui_.px(256) - ImGui::GetCursorPosX();
      if (room > ui_.px(40))
        fittedLabel(ui_, ui_.theme.dim, headText(Side::kAfter, index, selection), room, ui_.fonts.head);
    }
    drawViewButtons(width);
    ImGui::SetCursorPos(after_head);
  }

  void drawViewButtons(float width) {
    constexpr std::array<std::pair<const char*, Arrangement>, 3> kArrangements = {
        {{"before", Arrangement::kBefore}, {"split", Arrangement::kSplit}, {"after", Arrangement::kAfter}}};
    float x = width - ui_.px(8);
    const auto placeLeft = [&](const std::string& text) {
      x -= buttonSize(ui_, text, ui_.fonts.head).x - ui_.px(8);
      ImGui::SetCursorPos({x, std::floor(ui_.px(5))});
    };
    GraphCanvas& shown = panes_[arrangement_ == Arrangement::kBefore ? 0 : 1].canvas;
    const std::string percent = fmt::format("{:.0f} %", shown.zoom() * 100);
    placeLeft(percent);
    if (button(ui_, "zoom", percent, ButtonLook::kQuiet, true, ui_.fonts.head)) {
      for (Pane& pane : panes_) pane.canvas.setZoom(1);
    }
    if (ImGui::IsItemHovered())
      tooltip("Zoom. Click for 100 %; Ctrl and the wheel zoom, the wheel scrolls, dragging pans.");
    placeLeft("fit");
    if (button(ui_, "fit", "fit", ButtonLook::kQuiet, true, ui_.fonts.head)) {
      for (Pane& pane : panes_) pane.canvas.requestFit();
    }
    for (auto it = kArrangements.rbegin(); it != kArrangements.rend(); ++it) {
      placeLeft(it->first);
      const ButtonLook look = arrangement_ == it->second ? ButtonLook::kChosen : ButtonLook::kQuiet;
      if (button(ui_, it->first, it->first, look, true, ui_.fonts.head)) arrangement_ = it->second;
    }
  }

  void drawSearch(Selection& selection) {
    ImGui::SetCursorPos({ui_.px(10), std::floor(ui_.px(5))});
    ImGui::SetNextItemWidth(ui_.px(180));
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {ui_.px(9), std::floor(ui_.px(4))});
    const bool entered = ImGui::InputTextWithHint("##search", "search nodes", search_.data(), search_.size(),
                                                  ImGuiInputTextFlags_EnterReturnsTrue);
    ImGui::PopStyleVar();
    if (!entered) return;
    ImGui::SetKeyboardFocusHere(-1);
    findNext(selection);
  }

  // The next node after the last hit, in reading order, whose title or facts contain the words.
  void findNext(Selection& selection) {
    const std::string wanted = lowered(search_.data());
    const Pane& pane = panes_[panes_[1].scene && arrangement_ != Arrangement::kBefore ? 1 : 0];
    if (wanted.empty() || !pane.scene) return;
    const auto& nodes = pane.scene->canvas.nodes;
    for (std::size_t i = 1; i <= nodes.size(); ++i) {
      const std::size_t n = (last_hit_ + i) % nodes.size();
      if (lowered(nodes[n].title + " " + nodes[n].facts).find(wanted) == std::string::npos) continue;
      const std::int32_t graph_node = pane.scene->graph_node[n];
      if (graph_node < 0) continue;
      last_hit_ = n;
      selection.select(pane.key.index->graphs[pane.key.graph].graph->nodes[graph_node].origins, true);
      return;
    }
  }

  // Takes over a scene that is ready, and keeps what the user looks at where it is.
  void refresh(Side side, const StudioSnapshot& snapshot, const Selection& selection, Pane* pane) {
    const JobIndex& index = *snapshot.index;
    const std::int32_t stage = stageOf(side, index, selection);
    const std::int32_t graph = stage < 0 ? -1 : index.stages[stage].graph;
    if (graph < 0) {
      pane->scene = nullptr;
      return;
    }
    const SceneKey wanted = {snapshot.index, graph, stage > 0};
    if (pane->scene && pane->key == wanted) return;
    std::shared_ptr<const GraphScene> scene = ui_.scenes->get(static_cast<std::int32_t>(side), wanted);
    if (!scene) {
      settled_ = false;
      return;
    }
    if (pane->scene) followAnchor(*pane, *scene, index.graphs[graph], &pane->canvas);
    pane->scene = std::move(scene);
    pane->key = wanted;
    pane->selection_generation = ~0ULL;
  }

  // The anchor is the selected node nearest to the middle of the view, else any node nearest to it.
  void followAnchor(const Pane& old, const GraphScene& fresh, const GraphIndex& graph, GraphCanvas* canvas) const {
    const LayoutPoint middle = canvas->centre();
    std::int32_t anchor = -1;
    float nearest = 1e30F;
    const auto consider = [&](std::int32_t n) {
      const CanvasNode& node = old.scene->canvas.nodes[n];
      const float dx = node.corner.x + node.size.width / 2 - middle.x;
      const float dy = node.corner.y + node.size.height / 2 - middle.y;
      if (old.scene->graph_node[n] < 0 || dx * dx + dy * dy >= nearest) return;
      nearest = dx * dx + dy * dy;
      anchor = n;
    };
    for (const std::int32_t n : old.selected) consider(n);
    if (anchor < 0) {
      for (std::size_t n = 0; n < old.scene->canvas.nodes.size(); ++n) consider(static_cast<std::int32_t>(n));
    }
    if (anchor < 0) return;
    const GraphIndex& before = old.key.index->graphs[old.key.graph];
    const auto& origins = before.graph->nodes[old.scene->graph_node[anchor]].origins;
    for (const std::int32_t n : nodesOf(graph, origins)) {
      const std::int32_t to = fresh.canvas_node[n];
      if (to < 0) continue;
      const CanvasNode& was = old.scene->canvas.nodes[anchor];
      const CanvasNode& is = fresh.canvas.nodes[to];
      canvas->follow({was.corner.x + was.size.width / 2, was.corner.y}, {is.corner.x + is.size.width / 2, is.corner.y});
      return;
    }
  }

  void syncSelection(const Selection& selection, Pane* pane) {
    const GraphIndex& graph = pane->key.index->graphs[pane->key.graph];
    if (pane->selection_generation != selection.generation()) {
      pane->selection_generation = selection.generation();
      pane->selected.clear();
      for (const std::int32_t n : nodesOf(graph, selection.origins())) {
        if (pane->scene->canvas_node[n] >= 0) pane->selected.push_back(pane->scene->canvas_node[n]);
      }
      std::sort(pane->selected.begin(), pane->selected.end());
    }
    if (pane->reveal_generation != selection.revealGeneration()) {
      pane->reveal_generation = selection.revealGeneration();
      pane->canvas.reveal(pane->selected);
    }
  }

  void drawPane(Side side, float width, const StudioSnapshot& snapshot, Selection& selection) {
    Pane& pane = panes_[static_cast<std::size_t>(side)];
    refresh(side, snapshot, selection, &pane);
    const bool before = side == Side::kBefore;
    if (beginArea(ui_, before ? "before" : "after", {width, 0}, ui_.theme.ground, {0, 0},
                  ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse)) {
      if (!before && snapshot.index->stages.size() < 2) {
        drawNotOptimized(snapshot);
      } else if (pane.scene) {
        syncSelection(selection, &pane);
        const CanvasResult result = pane.canvas.draw("canvas", ImGui::GetContentRegionAvail(), pane.scene->canvas,
                                                     pane.selected, ui_.theme, ui_.fonts, ui_.scale);
        handle(result, pane, selection);
      } else {
        emptyState(ui_, "Arranging the graph", "One moment.");
      }
    }
    endArea();
  }

  void drawNotOptimized(const StudioSnapshot& snapshot) const {
    if (snapshot.status.state == JobState::kWorking) {
      emptyState(ui_, "Waiting for the first pass",
                 "The graph after each pass appears here while the model is optimized.");
    } else if (snapshot.status.state == JobState::kRecorded) {
      emptyState(ui_, "No passes were recorded",
                 "This run measured the model as it is. ipex-studio run MODEL.pt records every pass.");
    } else {
      emptyState(ui_, "Not optimized yet",
                 "Press Optimize: the graph after every pass appears here, with the time of each operation.");
    }
  }

  void handle(const CanvasResult& result, const Pane& pane, Selection& selection) const {
    const GraphSnapshot& graph = *pane.key.index->graphs[pane.key.graph].graph;
    if (result.clicked_ground) selection.clear();
    if (result.clicked >= 0) {
      const std::int32_t n = pane.scene->graph_node[result.clicked];
      // Reveal: the other side shall move to its counterpart. This side has it in view already.
      if (n >= 0) selection.select(graph.nodes[n].origins, true);
    }
    if (result.hovered < 0) return;
    const CanvasNode& node = pane.scene->canvas.nodes[result.hovered];
    std::string text = node.title;
    const std::int32_t n = pane.scene->graph_node[result.hovered];
    if (n >= 0) text += "\n" + displayText(graph.nodes[n].kind, 80);
    if (!node.facts.empty()) text += "\n" + node.facts;
    if (!node.corner_text.empty()) text += "\n" + node.corner_text;
    if (node.hatched) text += "\nleft to the interpreter";
    if (n >= 0 && graph.nodes[n].origins.size() > 1)
      text += fmt::format("\nmade of {} original nodes", graph.nodes[n].origins.size());
    ImGui::BeginTooltip();
    label(ui_.theme.text, text);
    ImGui::EndTooltip();
  }

  const Ui& ui_;
  std::array<Pane, 2> panes_;
  Arrangement arrangement_ = Arrangement::kSplit;
  std::array<char, 128> search_{};
  std::size_t last_hit_ = 0;
  bool settled_ = true;
};

}  // namespace

std::unique_ptr<Panel> makeGraphPanel(const Ui& ui) { return std::make_unique<GraphPanel>(ui); }

}  // namespace ipex_studio
