// See app.h.
#include "studio/window/app.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <system_error>

#include "core/base/error.h"
#include "core/record/bisect_record.h"
#include "studio/panels/graph/scene_service.h"
#include "studio/panels/mode_chips.h"
#include "studio/panels/panel_list.h"
#include "studio/panels/status_line.h"
#include "studio/snapshot/snapshot_tables.h"
#include "studio/ui/imgui_compat.h"
#include "studio/window/app_actions.h"
#include "studio/window/word_list.h"

namespace ipex_studio {
namespace {

constexpr float kTopPoints = 56;
constexpr float kTabPoints = 36;
constexpr float kLeftPoints = 300, kMinLeft = 232;
constexpr float kRightPoints = 360, kMinRight = 250;
constexpr float kBottomPoints = 300, kMinBottom = 212;
constexpr float kMinForAll = 1100;  // least width in points to show passes, graph and inspector side by side
constexpr float kGrip = 6;
// Width of the strip that stands for a hidden part, and brings it back by mouse.
constexpr float kRailPoints = 22;
constexpr float kMinScale = 0.75F;
constexpr float kMaxScale = 4;
constexpr float kScaleStep = 1.15F;

// Size of a part in points: as dragged, else as the style prefers, less in small windows.
float wanted(float dragged, float preferred, float window, float share, float least) {
  if (dragged >= 0) return std::clamp(dragged, least, std::max(least, window * 0.6F));
  return std::clamp(window * share, least, preferred);
}

}  // namespace

void App::check(const AppOptions& options) {
  themeByName(options.theme);
  if (!options.panel.empty()) panelNamed(options.panel);
}

App::App(const AppOptions& options, std::function<void()> wake)
    : settings_(options.settings), display_scale_(std::clamp(options.scale, 0.5F, kMaxScale)) {
  check(options);
  ui_.theme = themeByName(options.theme);
  ui_.scale = settings_.scale > 0 ? settings_.scale : display_scale_;
  applyTheme(ui_.theme, ui_.scale);
  ui_.fonts = loadFonts(ui_.scale);
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.ConfigInputTextCursorBlink = false;
  // Nodes are sized by glyph widths, which are known only once the atlas is built.
  unsigned char* pixels = nullptr;
  int width = 0;
  int height = 0;
  io.Fonts->GetTexDataAsAlpha8(&pixels, &width, &height);
  ui_.wake = wake;
  ui_.recent = &settings_.recent;
  scenes_ = std::make_unique<SceneService>(textMetrics(ui_.fonts, ui_.scale), std::move(wake));
  ui_.scenes = scenes_.get();
  ui_.tabs = &tabs_;
  panels_ = makePanels(ui_);
  for (const auto& panel : panels_) {
    if (options.panel == panel->name()) alone_ = panel.get();
  }
}

App::~App() = default;

bool App::settled() const {
  return !scenes_->busy() && dialogs_.settled() &&
         std::all_of(panels_.begin(), panels_.end(), [](const auto& panel) { return panel->settled(); });
}

bool App::prepareFrame() {
  const float wanted = settings_.scale > 0 ? settings_.scale : display_scale_;
  if (wanted == ui_.scale) return false;
  ui_.scale = wanted;
  applyTheme(ui_.theme, ui_.scale);
  ui_.fonts = loadFonts(ui_.scale);
  return true;
}

// Actions that belong to the window itself.
void App::act(const StudioSnapshot& snapshot) {
  for (const char* theme : {"dark", "light", "contrast"}) {
    if (!selection_.take(std::string("theme.") + theme)) continue;
    settings_.theme = theme;
    ui_.theme = themeByName(theme);
    applyTheme(ui_.theme, ui_.scale);
  }
  if (selection_.take("scale.larger")) settings_.scale = std::min(ui_.scale * kScaleStep, kMaxScale);
  if (selection_.take("scale.smaller")) settings_.scale = std::max(ui_.scale / kScaleStep, kMinScale);
  if (selection_.take("scale.reset")) settings_.scale = 0;
  if (selection_.take("panel.passes")) settings_.hide_left = !settings_.hide_left;
  if (selection_.take("panel.inspector"))
    settings_.hide_right = !std::exchange(folded_right_, false) && !settings_.hide_right;
  if (selection_.take("panel.bottom")) settings_.hide_bottom = !settings_.hide_bottom;
  constexpr float kSizeStep = 40;
  const auto resize = [&](const char* more, const char* less, float* size, float preferred, float least) {
    const float step = (selection_.take(more) ? kSizeStep : 0) - (selection_.take(less) ? kSizeStep : 0);
    if (step != 0) *size = std::max((*size >= 0 ? *size : preferred) + step, least);
  };
  resize("panel.passes-wider", "panel.passes-narrower", &settings_.left, kLeftPoints, kMinLeft);
  resize("panel.inspector-wider", "panel.inspector-narrower", &settings_.right, kRightPoints, kMinRight);
  resize("panel.bottom-taller", "panel.bottom-lower", &settings_.bottom, kBottomPoints, kMinBottom);
  bringForward();
  // Reports are written to the current folder, as tables are.
  for (const char* ending : {"html", "png"}) {
    if (selection_.take(std::string("report.") + ending))
      report_ = reportOf(snapshot, tableFileName(snapshot, "report") + "." + ending);
  }
  showFirstWrong(snapshot);
  // A job that only trained has nothing to show in the other tabs.
  const bool only_trained = snapshot.job->training != nullptr && snapshot.job->runs.empty();
  if (only_trained && training_ == nullptr) selection_.front_panel = "training";
  training_ = snapshot.job->training;
  std::error_code ignored;
  const bool read = !snapshot.job->model.path.empty();
  if (read && !snapshot.work.file.empty() && snapshot.work.file != opened_) {
    opened_ = snapshot.work.file;
    rememberRecent(&settings_, opened_.find("://") != std::string::npos
                                   ? opened_
                                   : std::filesystem::absolute(opened_, ignored).lexically_normal().string());
  }
  offerLibrary(snapshot);
  scrub(snapshot);
}

// While nothing is open the library is what there is to look at; a file that opens takes its place.
void App::offerLibrary(const StudioSnapshot& snapshot) {
  const bool empty = snapshot.status.state == JobState::kEmpty;
  if (empty && !library_offered_ && tab_ == "waterfall" && !snapshot.history->models.empty()) {
    library_offered_ = true;
    tab_ = "library";
  }
  if (!empty && std::exchange(library_offered_, false) && tab_ == "library") tab_ = "waterfall";
}

// Selects the first wrong node once it is found, on both sides of the graph, and asks for what it gives.
void App::showFirstWrong(const StudioSnapshot& snapshot) {
  const auto& found = snapshot.work.first_wrong.found;
  if (found != found_ && found != nullptr && !found->wrong.empty()) {
    selection_.select(found->wrong.front().origins, true);
    asks_values_ = true;
  }
  found_ = found;
  if (!asks_values_ || !whyNotStart(snapshot).empty()) return;
  asks_values_ = false;
  selection_.request("values.compute");
}

// Brings the tabs of requested actions to the front in the order of the requests, so that the last one stays there. A
// tab that has something to do is in front for at least a frame.
void App::bringForward() {
  while (const std::optional<std::string> action = selection_.nextRequest()) {
    const PanelEntry* tab = tabOf(*action);
    if (tab == nullptr) continue;
    selection_.front_panel = tab->name;
    settings_.hide_bottom = false;
    const bool opened = *action == std::string("tab.") + tab->name;
    if (!opened) break;
    selection_.take(*action);
  }
}

ReportCommand App::reportOf(const StudioSnapshot& snapshot, const std::string& path) const {
  constexpr std::size_t kMaxNames = 50;
  ReportCommand command;
  command.path = path;
  const std::string panel = alone_ != nullptr ? alone_->name() : tab_;
  if (!panel.empty()) command.table = tableSource(panel);
  const RunIndex& run = snapshot.index->optimized;
  for (const std::int32_t r : rowsOf(run, selection_.origins())) {
    if (command.selected.size() < kMaxNames) command.selected.push_back(run.rows[static_cast<std::size_t>(r)].name);
  }
  return command;
}

void App::scrub(const StudioSnapshot& snapshot) {
  const auto last = static_cast<std::int32_t>(snapshot.index->stages.size()) - 1;
  if (last < 1) return;
  const std::int32_t before =
      selection_.after_stage < 0 ? snapshot.index->default_stage : std::min(selection_.after_stage, last);
  std::int32_t shown = before;
  if (selection_.take("pass.previous")) --shown;
  if (selection_.take("pass.next")) ++shown;
  if (selection_.take("pass.first")) shown = 1;
  if (selection_.take("pass.last")) shown = last;
  if (shown != before) selection_.after_stage = std::clamp(shown, 1, last);
}

Panel* App::panelAt(PanelPlace place) const {
  for (const auto& panel : panels_) {
    if (panel->place() == place) return panel.get();
  }
  return nullptr;
}

void App::frame(const StudioSnapshot& snapshot, Commands& commands) {
  const ImVec2 size = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos({0, 0});
  ImGui::SetNextWindowSize(size);
  const ImGuiWindowFlags flags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                 ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus |
                                 ImGuiWindowFlags_NoScrollWithMouse;
  ImGui::Begin("studio", nullptr, flags);
  // Outside dialogs the keyboard walks through passes and starts actions, so ImGui must not use it.
  ImGui::GetIO().ConfigFlags &= ~ImGuiConfigFlags_NavEnableKeyboard;
  tabs_.begin();
  followKeys();
  act(snapshot);
  const std::string written = lastWritten(snapshot);
  if (selection_.take("report.folder") && !written.empty()) commands.post(OpenFolderCommand{written});
  if (selection_.take("file.measure-at-once")) {
    settings_.measure_at_once = !snapshot.work.measures_at_once;
    commands.post(MeasureAtOnceCommand{settings_.measure_at_once});
  }
  if (alone_ != nullptr) {
    if (beginArea(ui_, alone_->name(), size, ui_.theme.panel, {0, 0}, ImGuiWindowFlags_NoScrollbar)) {
      areaStop(alone_->place(), alone_->name());
      alone_->draw(snapshot, selection_, commands);
    }
    endArea();
  } else {
    const float status = std::floor(ui_.px(kStatusPoints));
    drawAll(snapshot, commands, {size.x, size.y - status});
    ImGui::SetCursorPos({0, size.y - status});
    if (beginArea(ui_, "status", {size.x, status}, ui_.theme.panel, {0, 0}, ImGuiWindowFlags_NoScrollbar))
      drawStatusLine(ui_, snapshot, selection_, commands);
    endArea();
  }
  selection_.front_panel.clear();
  dialogs_.draw(snapshot, selection_, commands);
  if (!selection_.front_panel.empty()) tab_ = std::exchange(selection_.front_panel, {});
  palette_.draw(selection_);
  drawWordList(ui_, selection_);
  popup_ = ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup);
  selection_.ageRequests();
  ImGui::End();
}

// Requests the action of the keys that are pressed. They mean the same everywhere, but for arrow keys where Tab leads.
void App::followKeys() {
  // Escape may have closed a menu already, which is all that it does then.
  if (popup_) return;
  if (keyPressed(ImGuiKey_Escape) && !ImGui::IsAnyItemActive()) {
    if (tabs_.at() == TabStop::kNone) selection_.clear();
    tabs_.leave();
  }
  const bool typing = ImGui::GetIO().WantTextInput;
  if (const char* own = typing ? nullptr : tabs_.action()) {
    if (*own != '\0') selection_.request(own);
    return;
  }
  const Action* action = pressedAction(typing);
  if (action != nullptr) selection_.request(action->name);
}

// Makes the current area a stop for Tab, in which arrow keys move.
void App::areaStop(PanelPlace place, const char* name) {
  const TabStop kind = place == PanelPlace::kLeft     ? TabStop::kPasses
                       : place == PanelPlace::kCentre ? TabStop::kGraph
                       : place == PanelPlace::kRight  ? TabStop::kInspector
                                                      : TabStop::kRows;
  if (place == PanelPlace::kTop || !tabs_.stopAt(kind, ImGui::GetID(name))) return;
  const ImVec2 low = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
  partRing(ui_, low, {low.x + size.x, low.y + size.y});
}

void App::drawAll(const StudioSnapshot& snapshot, Commands& commands, ImVec2 size) {
  const float points_wide = size.x / ui_.scale;
  const float points_high = size.y / ui_.scale;
  const auto extent = [&](bool hidden, float dragged, float preferred, float window, float share, float least) {
    return std::floor(ui_.px(hidden ? kRailPoints : wanted(dragged, preferred, window, share, least)));
  };
  WindowSettings& set = settings_;
  if (!selection_.front_panel.empty()) set.hide_bottom = false;
  // A small window starts with the graph, the slow operations and the advice; the rest is a click away.
  if (!drawn_) folded_right_ = points_wide < kMinForAll;
  drawn_ = true;
  bool hide_right = set.hide_right || folded_right_;
  const float left = extent(set.hide_left, set.left, kLeftPoints, points_wide, 0.206F, kMinLeft);
  const float right = extent(hide_right, set.right, kRightPoints, points_wide, 0.2F, kMinRight);
  const float bottom = extent(set.hide_bottom, set.bottom, kBottomPoints, points_high, 0.31F, kMinBottom);
  const float bar = std::floor(ui_.px(kTopPoints));
  const float top = bar + (modeChips(snapshot).empty() ? 0 : std::floor(ui_.px(kChipRowPoints)));
  const float middle = std::max(size.y - top - bottom, ui_.px(80));
  const float centre = std::max(size.x - left - right, ui_.px(120));
  constexpr ImGuiWindowFlags kStill = ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;
  const auto area = [&](PanelPlace place, ImVec2 at, ImVec2 room) {
    Panel* panel = panelAt(place);
    ImGui::SetCursorPos(at);
    if (beginArea(ui_, panel->name(), room, ui_.theme.panel, {0, 0}, kStill)) {
      areaStop(place, panel->name());
      panel->draw(snapshot, selection_, commands);
    }
    endArea();
  };
  area(PanelPlace::kTop, {0, 0}, {size.x, bar});
  if (top > bar) {
    ImGui::SetCursorPos({0, bar});
    if (beginArea(ui_, "in force", {size.x, top - bar}, ui_.theme.panel, {0, 0}, kStill))
      drawModeChips(ui_, snapshot, commands);
    endArea();
  }
  if (!set.hide_left) area(PanelPlace::kLeft, {0, top}, {left, middle});
  area(PanelPlace::kCentre, {left, top}, {centre, middle});
  if (!hide_right) area(PanelPlace::kRight, {left + centre, top}, {right, middle});
  ImGui::SetCursorPos({0, top + middle});
  if (!set.hide_bottom) {
    if (beginArea(ui_, "bottom", {size.x, bottom}, ui_.theme.panel, {0, 0}, kStill)) drawBottom(snapshot, commands);
    endArea();
  }

  const float grip = ui_.px(kGrip);
  // Each grip draws the hairline in its middle.
  ImGui::SetCursorPos({0, top - 1});
  hairline(ui_);
  const float moved_left = splitter(TabStop::kLeftEdge, {left - grip / 2, top}, {grip, middle}, &set.hide_left);
  const float moved_right = splitter(TabStop::kRightEdge, {left + centre - grip / 2, top}, {grip, middle}, &hide_right);
  const float moved_bottom =
      splitter(TabStop::kBottomEdge, {0, top + middle - grip / 2}, {size.x, grip}, &set.hide_bottom);
  if (moved_left != 0 && !set.hide_left) set.left = (left + moved_left) / ui_.scale;
  if (moved_right != 0 && !hide_right) set.right = (right - moved_right) / ui_.scale;
  if (moved_bottom != 0 && !set.hide_bottom) set.bottom = (bottom - moved_bottom) / ui_.scale;
  rail("left rail", "Passes (Ctrl+1)", {0, top}, {left - grip / 2, middle}, &set.hide_left);
  rail("right rail", "Inspector (Ctrl+3)", {left + centre + grip / 2, top}, {right - grip / 2, middle}, &hide_right);
  rail("bottom rail", "Tables and charts (Ctrl+2)", {0, top + middle + grip / 2}, {size.x, bottom - grip / 2},
       &set.hide_bottom);
  if (hide_right == (set.hide_right || folded_right_)) return;
  set.hide_right = hide_right;
  folded_right_ = false;
}

// Draws the strip in the place of a hidden part, with its name; a click brings the part back.
void App::rail(const char* id, const char* what, ImVec2 at, ImVec2 size, bool* hidden) {
  if (!*hidden) return;
  ImGui::SetCursorPos(at);
  if (beginArea(ui_, id, size, ui_.theme.panel, {0, 0}, ImGuiWindowFlags_NoScrollbar)) {
    if (invisibleButton(ui_, "show", size)) *hidden = false;
    const bool hovered = ImGui::IsItemHovered();
    if (hovered) {
      ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
      tooltip(std::string("Show: ") + what);
    }
    ImFont* font = ui_.fonts.head;
    const ImVec2 corner = ImGui::GetWindowPos();
    const bool wide = size.x > size.y;
    const std::string text = wide ? what : "+";
    ImGui::GetWindowDrawList()->AddText(
        font, font->FontSize,
        {corner.x + std::floor(wide ? ui_.px(13) : (size.x - font->FontSize * 0.6F) / 2),
         corner.y + std::floor(wide ? (size.y - font->FontSize) / 2 : ui_.px(9))},
        hovered ? ui_.theme.text : ui_.theme.dim, text.c_str());
  }
  endArea();
}

// Draws the edge of a part, which mouse and keys move; returns by how much the mouse has.
float App::splitter(TabStop edge, ImVec2 at, ImVec2 size, bool* hide) {
  const bool vertical = edge != TabStop::kBottomEdge;
  // The grip is a child window, so that it lies above its neighbours and gets the mouse.
  ImGui::SetCursorPos(at);
  ImGui::PushID(static_cast<int>(edge));
  float moved = 0;
  if (ImGui::BeginChild("splitter", size, false, ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoScrollbar)) {
    const ImVec2 corner = ImGui::GetWindowPos();
    const ImVec2 low = vertical ? ImVec2(corner.x + std::floor(size.x / 2), corner.y)
                                : ImVec2(corner.x, corner.y + std::floor(size.y / 2));
    const ImVec2 high = vertical ? ImVec2(low.x + 1, low.y + size.y) : ImVec2(low.x + size.x, low.y + 1);
    ImGui::GetWindowDrawList()->AddRectFilled(low, high, ui_.theme.line);
    ImGui::InvisibleButton("grip", size);
    // The rail in the place of a hidden part is a stop of its own.
    if (!*hide && tabs_.stop(edge))
      partRing(ui_, {low.x - ui_.px(3), low.y - ui_.px(3)}, {high.x + ui_.px(3), high.y + ui_.px(3)});
    if (ImGui::IsItemHovered() || ImGui::IsItemActive()) {
      ImGui::SetMouseCursor(vertical ? ImGuiMouseCursor_ResizeEW : ImGuiMouseCursor_ResizeNS);
    }
    if (ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) *hide = !*hide;
    if (ImGui::IsItemActive()) moved = vertical ? ImGui::GetIO().MouseDelta.x : ImGui::GetIO().MouseDelta.y;
  }
  ImGui::EndChild();
  ImGui::PopID();
  return moved;
}

void App::stepTab(int step) {
  std::vector<const Panel*> tabs;
  std::size_t front = 0;
  for (const auto& panel : panels_) {
    if (panel->place() != PanelPlace::kBottomTab) continue;
    if (tab_ == panel->name()) front = tabs.size();
    tabs.push_back(panel.get());
  }
  const auto count = static_cast<int>(tabs.size());
  tab_ = tabs[static_cast<std::size_t>((static_cast<int>(front) + step + count) % count)]->name();
}

// Padding around a tab's name, less if many tabs stand in a small window.
float App::tabPadding(float width) const {
  const ImFont* font = ui_.fonts.head;
  float names = 0;
  int count = 0;
  for (const auto& panel : panels_) {
    if (panel->place() != PanelPlace::kBottomTab) continue;
    names += font->CalcTextSizeA(font->FontSize, 1e6F, 0, panel->title()).x;
    ++count;
  }
  return std::clamp((width - names) / static_cast<float>(std::max(count, 1)), ui_.px(6), ui_.px(28));
}

void App::drawBottom(const StudioSnapshot& snapshot, Commands& commands) {
  if (selection_.take("tab.next")) stepTab(1);
  if (selection_.take("tab.previous")) stepTab(-1);
  if (!selection_.front_panel.empty()) tab_ = selection_.front_panel;
  const float height = std::floor(ui_.px(kTabPoints));
  const ImVec2 window = ImGui::GetWindowPos();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float padding = tabPadding(ImGui::GetWindowWidth());
  ImFont* font = ui_.fonts.head;
  float x = 0;
  Panel* front = nullptr;
  for (const auto& panel : panels_) {
    if (panel->place() != PanelPlace::kBottomTab) continue;
    const bool chosen = tab_ == panel->name();
    if (chosen) front = panel.get();
    const std::string title = panel->title();
    const float text_width = font->CalcTextSizeA(font->FontSize, 1e6F, 0, title.c_str()).x;
    const ImVec2 extent = {std::floor(text_width + padding), height};
    ImGui::SetCursorPos({x, 0});
    if (ImGui::InvisibleButton(panel->name(), extent)) tab_ = panel->name();
    const bool hovered = ImGui::IsItemHovered();
    // The row of tabs is one stop, wherever its front tab stands.
    if (chosen && tabs_.stopAt(TabStop::kTabs, ImGui::GetID("tabs"))) {
      const ImVec2 low = ImGui::GetItemRectMin(), high = ImGui::GetItemRectMax();
      partRing(ui_, low, high);
    }
    const ImU32 ink = chosen || hovered ? ui_.theme.text : ui_.theme.dim;
    list->AddText(font, font->FontSize,
                  {window.x + x + std::floor(padding / 2), window.y + std::floor((height - font->FontSize) / 2)}, ink,
                  title.c_str());
    if (chosen)
      list->AddRectFilled({window.x + x, window.y + height - ui_.px(2)}, {window.x + x + extent.x, window.y + height},
                          ui_.theme.accent);
    x += extent.x;
  }
  list->AddLine({window.x, window.y + height - 1}, {window.x + ImGui::GetWindowWidth(), window.y + height - 1},
                ui_.theme.line);
  if (front == nullptr) return;
  drawSaveLinks(snapshot, *front, x, commands);
  ImGui::SetCursorPos({0, height});
  constexpr ImGuiWindowFlags kStill = ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;
  if (beginArea(ui_, front->name(), {0, 0}, ui_.theme.panel, {0, 0}, kStill)) {
    areaStop(PanelPlace::kBottomTab, front->name());
    front->draw(snapshot, selection_, commands);
  }
  endArea();
}

// Draws the links at the right of the tabs that save the front tab's table to the current folder.
void App::drawSaveLinks(const StudioSnapshot& snapshot, const Panel& front, float tabs_end, Commands& commands) {
  const auto save = [&](const char* ending) {
    commands.post(SaveTableCommand{tableSource(front.name()), tableFileName(snapshot, front.name()) + ending});
  };
  const bool csv = selection_.take("tab.save-csv");
  const bool json = selection_.take("tab.save-json");
  if (csv) save(".csv");
  if (json) save(".json");
  const float width = ImGui::GetWindowWidth();
  if (tabs_end + ui_.px(130) > width) return;
  ImGui::SetCursorPos({width - ui_.px(120), std::floor(ui_.px(6))});
  if (button(ui_, "save csv", "CSV", ButtonLook::kQuiet, ui_.fonts.head)) save(".csv");
  if (ImGui::IsItemHovered()) tooltip("Write what this tab shows to " + tableFileName(snapshot, front.name()) + ".csv");
  ImGui::SameLine(0, 0);
  if (button(ui_, "save json", "JSON", ButtonLook::kQuiet, ui_.fonts.head)) save(".json");
  if (ImGui::IsItemHovered())
    tooltip("Write what this tab shows to " + tableFileName(snapshot, front.name()) + ".json");
}

}  // namespace ipex_studio
