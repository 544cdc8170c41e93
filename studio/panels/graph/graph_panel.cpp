// The canvases: the graph before and after any pass side by side, with one selection.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "studio/panels/graph/graph_pane.h"
#include "studio/panels/graph/node_search.h"
#include "studio/panels/panel.h"
#include "studio/panels/table_cells.h"
#include "studio/panels/welcome.h"

namespace ipex_studio {
namespace {

enum class Arrangement { kBefore, kSplit, kAfter };
constexpr std::array<const char*, 3> kArrangements = {"before", "split", "after"};

constexpr float kSearchPoints = 170, kMinSearchPoints = 110;
constexpr float kRoomyHeadPoints = 440;  // width of a side below which its head shows only what matters most
constexpr float kSplitPoints = 660;
constexpr float kLegendPoints = 26;

class GraphPanel : public Panel {
 public:
  explicit GraphPanel(const Ui& ui) : ui_(ui), panes_{GraphPane(ui, 0), GraphPane(ui, 1)}, search_(ui) {}
  const char* name() const override { return "graph"; }
  const char* title() const override { return "Graph"; }
  PanelPlace place() const override { return PanelPlace::kCentre; }
  bool settled() const override { return settled_; }

  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) override {
    settled_ = true;
    const JobIndex& index = *snapshot.index;
    if (index.stages.empty()) {
      panelHead(ui_, "Graph");
      drawEmpty(snapshot, selection, commands);
      return;
    }
    const float width = ImGui::GetWindowWidth();
    // Two sides need room; an arrangement chosen by hand stays.
    if (!arrangement_chosen_) {
      const bool alone = snapshot.status.state == JobState::kFailed && snapshot.index->stages.size() == 1;
      arrangement_ = alone                           ? Arrangement::kBefore
                     : width >= ui_.px(kSplitPoints) ? Arrangement::kSplit
                     : index.stages.size() < 2       ? Arrangement::kBefore
                                                     : Arrangement::kAfter;
    }
    act(selection);
    drawHead(index, selection);
    const float height = ImGui::GetWindowHeight() - ImGui::GetCursorPosY() - std::floor(ui_.px(kLegendPoints));
    const float half = std::floor(width / 2);
    panes_[0].canvas().showMinimap(arrangement_ != Arrangement::kSplit);
    if (arrangement_ == Arrangement::kSplit) {
      // Both sides have one layout and therefore one view; the right side moves the left one in the next frame.
      drawPane(0, {half, height}, snapshot, selection);
      panes_[1].canvas().lookLike(panes_[0].canvas());
      panes_[1].canvas().revealAlso(panes_[0].canvas().revealed());
      ImGui::SameLine(0, 0);
      const ImVec2 at = ImGui::GetCursorScreenPos();
      drawPane(1, {width - half, height}, snapshot, selection);
      ImGui::GetWindowDrawList()->AddLine({at.x, ImGui::GetWindowPos().y}, {at.x, at.y + height}, ui_.theme.line);
      if (panes_[1].scene() != nullptr) panes_[0].canvas().lookLike(panes_[1].canvas());
    } else {
      const int side = arrangement_ == Arrangement::kBefore ? 0 : 1;
      drawPane(side, {width, height}, snapshot, selection);
      panes_[1 - side].canvas().lookLike(panes_[side].canvas());
    }
    drawLegend(selection);
  }

 private:
  void drawEmpty(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) const {
    if (snapshot.status.state == JobState::kWorking) {
      emptyState(ui_, "Reading the model", "The graph appears here as soon as it is loaded and frozen.");
    } else if (snapshot.status.state == JobState::kFailed) {
      drawFailure(snapshot, selection);
    } else if (snapshot.status.state == JobState::kRecorded) {
      emptyState(ui_, "No graph was recorded",
                 pressOptimize(snapshot) + ": its graph appears here, and what each pass does to it.");
    } else if (snapshot.status.state != JobState::kEmpty) {
      emptyState(ui_, "The model is open", "Press Optimize: its graph appears here, and what each pass does to it.");
    } else {
      drawWelcome(ui_, selection, commands);
    }
  }

  // Draws what is wrong with the open file, and what can be done about it.
  void drawFailure(const StudioSnapshot& snapshot, Selection& selection) const {
    const std::string& file = snapshot.work.file;
    const std::string name = file.empty() ? "The file" : displayText(file.substr(file.find_last_of('/') + 1), 60);
    const bool model = snapshot.work.tuning.possible;
    const std::string& message = snapshot.status.message;
    const int pressed =
        offerState(ui_, name + (model ? " cannot be run" : " cannot be opened"),
                   message.empty() ? "The log below says why." : displayText(message, 600),
                   {model ? "Choose inputs…" : "Open another…", model ? "Open another…" : "Try a sample model"});
    if (pressed == 0) selection.request(model ? "run.inputs" : "file.open");
    if (pressed == 1) selection.request(model ? "file.open" : "file.sample");
  }

  static std::int32_t stageOf(int side, const JobIndex& index, const Selection& selection) {
    const auto last = static_cast<std::int32_t>(index.stages.size()) - 1;
    const std::int32_t after = selection.after_stage < 0 ? index.default_stage : std::min(selection.after_stage, last);
    if (side == 1) return after;
    return selection.before_is_previous ? std::max(after - 1, 0) : std::clamp(selection.before_stage, 0, last);
  }

  bool isRoomy(float width) const {
    return width >= ui_.px(kRoomyHeadPoints) * (arrangement_ == Arrangement::kSplit ? 2 : 1);
  }

  static std::string headText(int side, const JobIndex& index, const Selection& selection, bool numbered) {
    // Before the first pass nothing stands at the right.
    const std::int32_t stage = side == 1 && index.stages.size() < 2 ? -1 : stageOf(side, index, selection);
    const std::string name = stage > 0 && numbered ? fmt::format("{} · {}", stage, index.stages[stage].name)
                                                   : std::string(stage == 0  ? "baseline"
                                                                 : stage > 0 ? index.stages[stage].name
                                                                             : "–");
    return (side == 0 ? "Before: " : "After: ") + name;
  }

  // The side that carries out actions about one side.
  GraphPane& mainPane() { return panes_[arrangement_ == Arrangement::kBefore ? 0 : 1]; }

  void act(Selection& selection) {
    for (std::size_t a = 0; a < kArrangements.size(); ++a) {
      if (!selection.take(std::string("view.") + kArrangements[a])) continue;
      arrangement_ = static_cast<Arrangement>(a);
      arrangement_chosen_ = true;
    }
    for (int c = 0; c < kColorings; ++c) {
      if (selection.take(std::string("color.") + colorByName(static_cast<ColorBy>(c))))
        color_by_ = static_cast<ColorBy>(c);
    }
    if (selection.take("compare.frozen")) selection.before_is_previous = false;
    if (selection.take("compare.previous")) selection.before_is_previous = true;
    if (selection.take("graph.search")) search_.focus();
    if (selection.take("graph.next-hit")) search_.next(1, mainPane(), selection, &fold_);
    if (selection.take("graph.previous-hit")) search_.next(-1, mainPane(), selection, &fold_);
    if (selection.take("graph.fold-level")) foldOneLevel(true);
    if (selection.take("graph.unfold-level")) foldOneLevel(false);
    const bool fit = selection.take("graph.fit");
    const bool zoom_to = selection.take("graph.zoom-selection");
    const bool full = selection.take("graph.100");
    const bool in = selection.take("graph.zoom-in");
    const bool out = selection.take("graph.zoom-out");
    constexpr float kStep = 0.25F;  // share of the view
    const float right = (selection.take("graph.right") ? kStep : 0) - (selection.take("graph.left") ? kStep : 0);
    const float down = (selection.take("graph.down") ? kStep : 0) - (selection.take("graph.up") ? kStep : 0);
    for (GraphPane& pane : panes_) {
      GraphCanvas& canvas = pane.canvas();
      if (right != 0 || down != 0) canvas.pan(right, down);
      if (fit) canvas.requestFit();
      if (zoom_to) canvas.zoomTo(pane.selected());
      if (full) canvas.setZoom(1);
      if (in) canvas.setZoom(canvas.zoom() * 1.25F);
      if (out) canvas.setZoom(canvas.zoom() / 1.25F);
      pane.act(selection, &fold_, &pane == &mainPane());
    }
  }

  // Folds or unfolds a level of the modules that either side shows.
  void foldOneLevel(bool close) {
    std::vector<std::int32_t> shown;
    for (const GraphPane& pane : panes_) {
      if (pane.scene() == nullptr || (arrangement_ != Arrangement::kSplit && &pane != &mainPane())) continue;
      for (const std::int32_t module : pane.modulesShown(!close)) shown.push_back(module);
    }
    if (mainPane().scene() != nullptr) foldLevel(*mainPane().scene()->all, shown, close, &fold_);
  }

  // Draws the head from both ends towards the middle; what has no room is left out, the least important first.
  void drawHead(const JobIndex& index, Selection& selection) {
    panelHead(ui_, "");
    const ImVec2 after_head = ImGui::GetCursorPos();
    const float width = ImGui::GetWindowWidth();
    const bool split = arrangement_ == Arrangement::kSplit;
    const float view_left = drawViewButtons(width, selection);
    search_.draw(isRoomy(width) ? kSearchPoints : kMinSearchPoints, mainPane(), selection, &fold_);
    float left = ImGui::GetItemRectMax().x - ImGui::GetWindowPos().x + ui_.px(8);
    const float room = split ? std::floor(width / 2) : view_left;
    const std::string color = std::string("Colour: ") + colorByName(color_by_) + " ▼";
    if (left + buttonSize(ui_, color, ui_.fonts.head).x < room) {
      ImGui::SetCursorPos({left, std::floor(ui_.px(5))});
      if (button(ui_, "color", color, ButtonLook::kQuiet, ui_.fonts.head)) ImGui::OpenPopup("color by");
      if (ImGui::IsItemHovered()) tooltip("What the strip, the corner and the bar of each node tell.");
      left = ImGui::GetItemRectMax().x - ImGui::GetWindowPos().x;
    }
    drawColorMenu();
    if (arrangement_ != Arrangement::kAfter) drawBeforeHead(left, room, index, selection);
    if (arrangement_ != Arrangement::kBefore) {
      const float from = split ? std::floor(width / 2) + ui_.px(14) : left + ui_.px(14);
      ImGui::SetCursorPos({from, std::floor((ui_.px(kHeadPoints) - ui_.fonts.head->FontSize) / 2)});
      if (view_left - from > ui_.px(60)) {
        fittedLabel(ui_, ui_.theme.dim, headText(1, index, selection, isRoomy(width)), view_left - from - ui_.px(8),
                    ui_.fonts.head);
      }
    }
    ImGui::SetCursorPos(after_head);
  }

  void drawBeforeHead(float left, float right, const JobIndex& index, Selection& selection) {
    const std::string head = headText(0, index, selection, isRoomy(ImGui::GetWindowWidth()));
    std::string text = head + " ▼";
    float size = buttonSize(ui_, text, ui_.fonts.head).x;
    if (size > right - left) {
      text = "Before ▼";
      size = buttonSize(ui_, text, ui_.fonts.head).x;
    }
    if (right - left > size) {
      ImGui::SetCursorPos({right - size - ui_.px(2), std::floor(ui_.px(5))});
      if (button(ui_, "compared", text, ButtonLook::kQuiet, ui_.fonts.head)) ImGui::OpenPopup("compare with");
      if (ImGui::IsItemHovered()) tooltip(head + "\nWhat the graph at the right is compared with.");
    }
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {ui_.px(8), ui_.px(8)});
    if (beginMenu("compare with")) {
      for (const bool previous : {false, true}) {
        const char* choice = previous ? "the graph before this pass" : "the baseline";
        const bool chosen = selection.before_is_previous == previous;
        if (button(ui_, choice, choice, chosen ? ButtonLook::kChosen : ButtonLook::kQuiet)) {
          selection.before_is_previous = previous;
          ImGui::CloseCurrentPopup();
        }
      }
      ImGui::EndPopup();
    }
    ImGui::PopStyleVar();
  }

  void drawColorMenu() {
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {ui_.px(8), ui_.px(8)});
    if (beginMenu("color by")) {
      for (int c = 0; c < kColorings; ++c) {
        const auto choice = static_cast<ColorBy>(c);
        if (button(ui_, colorByName(choice), colorByName(choice),
                   choice == color_by_ ? ButtonLook::kChosen : ButtonLook::kQuiet)) {
          color_by_ = choice;
          ImGui::CloseCurrentPopup();
        }
      }
      ImGui::EndPopup();
    }
    ImGui::PopStyleVar();
  }

  // Returns the left end of the buttons.
  float drawViewButtons(float width, Selection& selection) {
    float x = width - ui_.px(8);
    const auto placeLeft = [&](const std::string& text) {
      x -= buttonSize(ui_, text, ui_.fonts.head).x - ui_.px(8);
      ImGui::SetCursorPos({x, std::floor(ui_.px(5))});
    };
    const std::string percent = fmt::format("{:.0f} %", mainPane().canvas().zoom() * 100);
    if (isRoomy(width)) {
      placeLeft(percent);
      if (button(ui_, "zoom", percent, ButtonLook::kQuiet, ui_.fonts.head)) selection.request("graph.100");
      if (ImGui::IsItemHovered())
        tooltip("Zoom. Click for 100 %; Ctrl and the wheel zoom, the wheel scrolls, dragging pans.");
    }
    placeLeft("fit");
    if (button(ui_, "fit", "fit", ButtonLook::kQuiet, ui_.fonts.head)) selection.request("graph.fit");
    if (ImGui::IsItemHovered()) tooltip("Show the whole graph (F). Z zooms to what is selected.");
    for (std::size_t a = kArrangements.size(); a-- > 0;) {
      placeLeft(kArrangements[a]);
      const bool chosen = arrangement_ == static_cast<Arrangement>(a);
      if (button(ui_, kArrangements[a], kArrangements[a], chosen ? ButtonLook::kChosen : ButtonLook::kQuiet,
                 ui_.fonts.head)) {
        arrangement_ = static_cast<Arrangement>(a);
        arrangement_chosen_ = true;
      }
    }
    return x;
  }

  void drawPane(int side, ImVec2 size, const StudioSnapshot& snapshot, Selection& selection) {
    GraphPane& pane = panes_[side];
    const JobIndex& index = *snapshot.index;
    const std::int32_t stage = stageOf(side, index, selection);
    const std::int32_t graph = stage < 0 ? -1 : index.stages[stage].graph;
    if (graph < 0) {
      pane.forget();
    } else {
      SceneKey wanted;
      wanted.job = snapshot.job;
      wanted.index = snapshot.index;
      wanted.fold = fold_;
      const std::int32_t other = stageOf(1 - side, index, selection);
      wanted.picture = {graph, stage, other < 0 ? -1 : index.stages[other].graph, side == 0, stage > 0, color_by_};
      const bool follow = side == 0 || arrangement_ != Arrangement::kSplit;
      settled_ = pane.refresh(wanted, follow) && settled_;
    }
    if (beginArea(ui_, side == 0 ? "before" : "after", size, ui_.theme.ground, {0, 0},
                  ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse)) {
      if (side == 1 && index.stages.size() < 2) {
        drawNotOptimized(snapshot, selection);
      } else if (pane.scene() != nullptr) {
        pane.draw(selection, &fold_);
      } else {
        emptyState(ui_, "Arranging the graph", "One moment.");
      }
    }
    endArea();
  }

  void drawNotOptimized(const StudioSnapshot& snapshot, Selection& selection) const {
    if (snapshot.status.state == JobState::kWorking) {
      emptyState(ui_, "Waiting for the first pass",
                 "The graph after each pass appears here while the model is optimized.");
    } else if (snapshot.status.state == JobState::kRecorded) {
      emptyState(ui_, "No passes were recorded",
                 "This run measured the baseline alone. " + pressOptimize(snapshot) + ": every pass is kept.");
    } else {
      const auto& inputs = snapshot.job->model.inputs;
      const bool asks =
          std::any_of(inputs.begin(), inputs.end(), [](const InputRecord& input) { return input.description.empty(); });
      const int pressed = offerState(
          ui_, "Nothing has run yet",
          asks ? "At the left is the model as it is saved. Its inputs cannot be guessed: say them, and it is rewritten "
                 "and measured."
               : "At the left is the model as it is saved. Optimize rewrites it, measures both and says what is slow, "
                 "why, and what to press next.",
          {asks ? "Choose inputs…" : "Optimize"});
      if (pressed == 0) selection.request(asks ? "run.inputs" : "run.optimize");
    }
  }

  // Draws the buttons that fold and unfold a level of modules, at the right of the legend; returns their left end.
  float drawFolding(float top, Selection& selection) {
    float x = ImGui::GetWindowWidth() - ui_.px(8);
    const GraphScene* scene = mainPane().scene();
    if (scene == nullptr || scene->all->modules.empty()) return x;
    constexpr std::array<const char*, 3> kButtons[] = {
        {"+", "graph.unfold-level", "Unfold the outermost folded modules (Ctrl+Shift+X)"},
        {"–", "graph.fold-level", "Fold the innermost modules (Ctrl+Shift+C); Shift+C folds all"}};
    for (const auto& [text, action, hint] : kButtons) {
      x -= buttonSize(ui_, text, ui_.fonts.head).x;
      ImGui::SetCursorPos({x, top + std::floor(ui_.px(1))});
      if (button(ui_, action, text, ButtonLook::kQuiet, ui_.fonts.head)) selection.request(action);
      if (ImGui::IsItemHovered()) tooltip(hint);
    }
    ImFont* font = ui_.fonts.head;
    x -= font->CalcTextSizeA(font->FontSize, 1e6F, 0, "modules").x;
    ImGui::SetCursorPos({x, top + std::floor((ui_.px(kLegendPoints) - font->FontSize) / 2)});
    label(ui_.theme.dim, "modules", font);
    return x - ui_.px(13);
  }

  // Draws the legend: a line below the canvases that explains colours and signs.
  void drawLegend(Selection& selection) {
    const float top = ImGui::GetWindowHeight() - std::floor(ui_.px(kLegendPoints));
    const float right = drawFolding(top, selection);
    const float text_y = top + std::floor((ui_.px(kLegendPoints) - ui_.fonts.head->FontSize) / 2);
    ImGui::SetCursorPos({0, top});
    hairline(ui_);
    const GraphScene* scene = mainPane().scene();
    if (scene == nullptr) return;
    float x = ui_.px(13);
    const auto put = [&](ImU32 swatch_color, const std::string& sign, const std::string& text) {
      ImFont* font = ui_.fonts.head;
      const float text_width = font->CalcTextSizeA(font->FontSize, 1e6F, 0, text.c_str()).x;
      if (x + ui_.px(15) + text_width > right) return;
      ImGui::SetCursorPos({x, text_y});
      if (sign.empty()) {
        swatch(ui_, swatch_color);
      } else {
        label(swatch_color, sign, font);
      }
      ImGui::SetCursorPos({x + ui_.px(15), text_y});
      label(ui_.theme.dim, text, font);
      x += ui_.px(15 + 16) + text_width;
    };
    for (const LegendEntry& entry : scene->legend)
      put(entry.tint < 0 ? ui_.theme.faint : ui_.theme.kinds[static_cast<std::size_t>(entry.tint)], "", entry.text);
    const auto& nodes = scene->canvas.nodes;
    const auto any = [&](CanvasMark mark) {
      return std::any_of(nodes.begin(), nodes.end(), [&](const CanvasNode& node) { return node.mark == mark; });
    };
    if (color_by_ == ColorBy::kTime &&
        std::any_of(nodes.begin(), nodes.end(), [](const CanvasNode& node) { return node.heat > 0; }))
      put(ui_.theme.warning, "_", "bar: time against the slowest");
    if (any(CanvasMark::kAdded)) put(ui_.theme.good, "+", "added");
    if (any(CanvasMark::kChanged)) put(ui_.theme.warning, "~", "changed");
  }

  const Ui& ui_;
  std::array<GraphPane, 2> panes_;
  ModuleFold fold_;
  ColorBy color_by_ = ColorBy::kTime;
  Arrangement arrangement_ = Arrangement::kSplit;
  bool arrangement_chosen_ = false;
  NodeSearch search_;
  bool settled_ = true;
};

void fillGraph(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"node", "name", "kind", "module", "inputs", "outputs", "time_ms", "origins"};
  const JobIndex& index = *snapshot.index;
  const std::int32_t g =
      index.default_stage < 0 ? -1 : index.stages[static_cast<std::size_t>(index.default_stage)].graph;
  if (g < 0) return;
  for (const GraphNode& node : index.graphs[static_cast<std::size_t>(g)].graph->nodes) {
    double ns = 0;
    for (const std::int32_t r : rowsOf(index.optimized, node.origins))
      ns += index.optimized.rows[static_cast<std::size_t>(r)].time.p50_ns;
    table->rows.push_back(
        {whole(node.id), node.name, node.kind, node.scope, whole(static_cast<std::int64_t>(node.inputs.size())),
         whole(static_cast<std::int64_t>(node.outputs.size())), orUnknown(ms(ns)), originsText(node.origins)});
  }
}

std::vector<ActionGroup> graphActions() {
  return {{400,
           {{"graph.search", "Search nodes", "/"},
            {"graph.next-hit", "Next node found", "Ctrl+G"},
            {"graph.previous-hit", "Node found before", "Ctrl+Shift+G"},
            {"graph.fit", "Show the whole graph", "F"},
            {"graph.zoom-selection", "Zoom to what is selected", "Z"},
            {"graph.100", "Zoom to 100 %", "1"},
            {"graph.zoom-in", "Zoom in", "="},
            {"graph.zoom-out", "Zoom out", "-"},
            {"graph.left", "Move the graph's view left", "Ctrl+Shift+Left"},
            {"graph.right", "Move the graph's view right", "Ctrl+Shift+Right"},
            {"graph.up", "Move the graph's view up", "Ctrl+Shift+Up"},
            {"graph.down", "Move the graph's view down", "Ctrl+Shift+Down"},
            {"graph.producer", "Go to what makes the input of the selected node", "P"},
            {"graph.consumer", "Go to what reads the selected node", "N"},
            {"graph.trace", "Mark all who read the selected node's value", "U"},
            {"graph.menu", "Menu of the selected node", "Shift+F10"},
            {"graph.fold", "Fold the module of the selected node", "C"},
            {"graph.unfold", "Unfold the selected module", "X"},
            {"graph.fold-level", "Fold the innermost modules", "Ctrl+Shift+C"},
            {"graph.unfold-level", "Unfold the outermost folded modules", "Ctrl+Shift+X"},
            {"graph.fold-all", "Fold all modules", "Shift+C"},
            {"graph.unfold-all", "Unfold all modules", "Shift+X"},
            {"view.before", "Show the graph before alone", "B"},
            {"view.split", "Show before and after side by side", "S"},
            {"view.after", "Show the graph after alone", "A"},
            {"compare.frozen", "Compare with the baseline", "Shift+A"},
            {"compare.previous", "Compare with the graph before this pass", "Shift+B"},
            {"color.time", "Colour by time", "T"},
            {"color.precision", "Colour by precision", "Shift+P"},
            {"color.kernel", "Colour by kernel", "K"},
            {"color.error", "Colour by error", "E"},
            {"color.pass", "Colour by pass", "Shift+T"}}}};
}

}  // namespace

extern const PanelEntry kGraphPanel;
const PanelEntry kGraphPanel{
    "graph",   [](const Ui& ui) -> std::unique_ptr<Panel> { return std::make_unique<GraphPanel>(ui); },
    fillGraph, "",
    "",        graphActions()};

}  // namespace ipex_studio
