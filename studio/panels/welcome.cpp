// See welcome.h.
#include "studio/panels/welcome.h"

#include <algorithm>
#include <cmath>

#include "studio/panels/dialogs/file_dialog.h"

namespace ipex_studio {

constexpr std::size_t kMaxShown = 8;

bool drawRecent(const Ui& ui, std::size_t most, float width, Commands& commands) {
  if (ui.recent == nullptr) return false;
  bool clicked = false;
  const float left = ImGui::GetCursorPosX();
  for (std::size_t r = 0; r < std::min(ui.recent->size(), most); ++r) {
    const std::string& path = (*ui.recent)[r];
    const auto [folder, name] = splitPath(path);
    ImGui::PushID(static_cast<int>(r));
    ImGui::SetCursorPosX(left);
    if (link(ui, "recent", displayText(name, 48))) {
      commands.post(OpenCommand{path});
      clicked = true;
    }
    ImGui::PopID();
    ImGui::SameLine(0, ui.px(12));
    fittedLabel(ui, ui.theme.dim, displayText(folder, 200), std::max(ui.px(40), left + width - ImGui::GetCursorPosX()));
    ImGui::Dummy({1, ui.px(3)});
  }
  return clicked;
}

void drawWelcome(const Ui& ui, Selection& selection, Commands& commands) {
  const float width = std::min(ui.px(480), ImGui::GetWindowWidth() - ui.px(48));
  if (width < ui.px(80)) return;
  const std::size_t recents = ui.recent == nullptr ? 0 : std::min(ui.recent->size(), kMaxShown);
  const float height = ui.px(130 + (recents > 0 ? 40 + 24 * static_cast<float>(recents) : 0));
  const float left = std::floor((ImGui::GetWindowWidth() - width) / 2);
  ImGui::SetCursorPos({left, std::floor(std::max(ui.px(48), (ImGui::GetWindowHeight() - height) / 2))});
  ImGui::BeginGroup();
  label(ui.theme.text, "Open a TorchScript model", ui.fonts.strong);
  ImGui::Dummy({1, ui.px(2)});
  ImGui::PushTextWrapPos(left + width);
  label(ui.theme.dim,
        "See what an optimizer does to it pass by pass, what is slow and why, and take a faster one away. Drop a .pt "
        "file here, or a "
        "profile.db with recorded runs.");
  ImGui::PopTextWrapPos();
  ImGui::Dummy({1, ui.px(8)});
  if (button(ui, "open", "Open…", ButtonLook::kPrimary)) selection.request("file.open");
  ImGui::SameLine(0, ui.px(8));
  if (button(ui, "sample", "Try a sample model", ButtonLook::kPlain)) selection.request("file.sample");
  if (ImGui::IsItemHovered()) tooltip("A small residual network for images, made here; it is optimized at once.");
  if (recents > 0) {
    ImGui::Dummy({1, ui.px(12)});
    label(ui.theme.dim, "Recent", ui.fonts.head);
    ImGui::Dummy({1, ui.px(2)});
    drawRecent(ui, kMaxShown, width, commands);
  }
  ImGui::EndGroup();
}

}  // namespace ipex_studio
