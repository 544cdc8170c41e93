// See app_palette.h.
#include "studio/window/app_palette.h"

#include <algorithm>
#include <cmath>

#include "studio/canvas/graph_canvas.h"
#include "studio/ui/imgui_compat.h"
#include "studio/window/app_actions.h"

namespace ipex_studio {
namespace {

constexpr float kWidthPoints = 560;
constexpr float kRowPoints = 28;
constexpr int kRows = 12;
constexpr ImGuiWindowFlags kPopupFlags = ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize |
                                         ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings;

}  // namespace

void Palette::draw(Selection& selection) {
  if (selection.take("palette")) {
    query_.fill(0);
    chosen_ = 0;
    focus_ = true;
    ImGui::OpenPopup("palette");
  }
  if (selection.take("shortcuts")) ImGui::OpenPopup("shortcuts");
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {ui_.px(12), ui_.px(12)});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, ui_.px(8));
  open_ = false;
  drawPalette(selection);
  drawShortcuts();
  ImGui::PopStyleVar(2);
}

bool Palette::drawRow(const char* title, const char* keys, bool chosen, float width) const {
  const float height = std::floor(ui_.px(kRowPoints));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  const bool clicked = ImGui::InvisibleButton(title, {width, height});
  ImGui::PopStyleVar();
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (chosen || ImGui::IsItemHovered())
    list->AddRectFilled(at, {at.x + width, at.y + height}, chosen ? ui_.theme.selection : ui_.theme.line, ui_.px(4));
  const float text_y = at.y + std::floor((height - ui_.fonts.text->FontSize) / 2);
  const float keys_width = ui_.fonts.mono->CalcTextSizeA(ui_.fonts.mono->FontSize, 1e6F, 0, keys).x;
  drawFittedText(list, ui_.fonts.text, ui_.fonts.text->FontSize, {at.x + ui_.px(10), text_y},
                 width - keys_width - ui_.px(34), ui_.theme.text, title);
  list->AddText(ui_.fonts.mono, ui_.fonts.mono->FontSize, {std::floor(at.x + width - keys_width - ui_.px(10)), text_y},
                ui_.theme.dim, keys);
  return clicked;
}

void Palette::drawPalette(Selection& selection) {
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const float width = std::min(ui_.px(kWidthPoints), display.x - ui_.px(24));
  ImGui::SetNextWindowPos({std::floor((display.x - width) / 2), std::floor(display.y * 0.14F)});
  ImGui::SetNextWindowSize({width, 0});
  if (!ImGui::BeginPopup("palette", kPopupFlags)) return;
  if (keyPressedOnce(ImGuiKey_Escape)) ImGui::CloseCurrentPopup();
  open_ = true;
  if (focus_) ImGui::SetKeyboardFocusHere();
  focus_ = false;
  ImGui::SetNextItemWidth(-1);
  const bool entered = ImGui::InputTextWithHint("##query", "what do you want to do?", query_.data(), query_.size(),
                                                ImGuiInputTextFlags_EnterReturnsTrue);
  tabField(ui_);
  if (ImGui::IsItemEdited()) chosen_ = 0;
  const std::vector<const Action*> found = findActions(query_.data());
  const int last = static_cast<int>(found.size()) - 1;
  if (keyPressed(ImGuiKey_DownArrow)) ++chosen_;
  if (keyPressed(ImGuiKey_UpArrow)) --chosen_;
  chosen_ = std::clamp(chosen_, 0, std::max(last, 0));
  const int first = std::clamp(chosen_ - kRows + 1, 0, std::max(last, 0));
  const Action* taken = entered && last >= 0 ? found[static_cast<std::size_t>(chosen_)] : nullptr;
  for (int a = first; a <= std::min(last, first + kRows - 1); ++a) {
    const Action& action = *found[static_cast<std::size_t>(a)];
    if (drawRow(action.title, action.keys, a == chosen_, width - ui_.px(24))) taken = &action;
  }
  if (last < 0) label(ui_.theme.dim, "Nothing is called that.");
  if (taken != nullptr) {
    selection.request(taken->name);
    ImGui::CloseCurrentPopup();
  }
  ImGui::EndPopup();
}

void Palette::drawShortcuts() {
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const float column = std::min(
      ui_.px(430), (display.x - ui_.px(48)) / std::max(1.F, std::floor((display.x - ui_.px(48)) / ui_.px(330))));
  const auto columns = std::clamp(static_cast<int>((display.x - ui_.px(48)) / column + 0.01F), 1, 4);
  ImGui::SetNextWindowPos({display.x / 2, display.y / 2}, ImGuiCond_Always, {0.5F, 0.5F});
  ImGui::SetNextWindowSizeConstraints({0, 0}, {display.x - ui_.px(24), display.y - ui_.px(24)});
  if (!beginMenu("shortcuts", kPopupFlags)) return;
  open_ = true;
  label(ui_.theme.text, "Keyboard shortcuts", ui_.fonts.strong);
  ImGui::SameLine(0, ui_.px(12));
  label(ui_.theme.dim, "Ctrl+P finds everything else by name. In dialogs: arrows, Tab, Space, Enter, Escape.");
  ImGui::Dummy({1, ui_.px(4)});
  std::vector<const Action*> shown;
  for (const Action& action : allActions()) {
    if (action.keys[0] != 0) shown.push_back(&action);
  }
  const std::size_t rows = (shown.size() + static_cast<std::size_t>(columns) - 1) / static_cast<std::size_t>(columns);
  const ImVec2 top = ImGui::GetCursorPos();
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const std::size_t at_column = i / rows, at_row = i % rows;
    ImGui::SetCursorPos({top.x + static_cast<float>(at_column) * column,
                         top.y + static_cast<float>(at_row) * std::floor(ui_.px(kRowPoints * 0.86F))});
    drawRow(shown[i]->title, shown[i]->keys, false, column - ui_.px(14));
  }
  ImGui::EndPopup();
}

}  // namespace ipex_studio
