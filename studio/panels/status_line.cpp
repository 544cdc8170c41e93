// See status_line.h.
#include "studio/panels/status_line.h"

#include <algorithm>
#include <cmath>

namespace ipex_studio {
namespace {

constexpr std::size_t kMaxBytes = 600;

ImU32 colorOf(const Theme& theme, const LogLine& line) {
  if (line.level == LogLevel::kError) return theme.bad;
  if (line.level == LogLevel::kWarning) return theme.warning;
  return line.path.empty() ? theme.faint : theme.good;
}

}  // namespace

std::string lastWritten(const StudioSnapshot& snapshot) {
  const auto& lines = *snapshot.log;
  const auto found = std::find_if(lines.rbegin(), lines.rend(), [](const LogLine& line) { return !line.path.empty(); });
  return found == lines.rend() ? std::string() : found->path;
}

void drawStatusLine(const Ui& ui, const StudioSnapshot& snapshot, Selection& selection, Commands& commands) {
  hairline(ui);
  const float y = std::floor((ImGui::GetWindowHeight() - ui.fonts.text->FontSize) / 2);
  const float gap = ui.px(14);
  float right = ImGui::GetWindowWidth() - ui.px(16);
  const auto linkAt = [&](const char* text) {
    right -= ImGui::CalcTextSize(text).x;
    ImGui::SetCursorPos({std::floor(right), y});
    right -= gap;
    return link(ui, text, text);
  };
  if (linkAt("?")) selection.request("words");
  if (ImGui::IsItemHovered()) tooltip("What the words mean (Shift+/)");
  if (snapshot.log->empty()) return;
  const LogLine& line = snapshot.log->back();
  if (linkAt("Log")) selection.request("tab.log");
  if (!line.path.empty()) {
    if (linkAt("Copy path")) ImGui::SetClipboardText(line.path.c_str());
    if (linkAt("Open folder")) commands.post(OpenFolderCommand{line.path});
  }
  ImGui::SetCursorPos({ui.px(13), y});
  swatch(ui, colorOf(ui.theme, line));
  const float left = ui.px(13 + 17);
  ImGui::SetCursorPos({left, y});
  const bool loud = line.level != LogLevel::kInfo || !line.path.empty();
  fittedLabel(ui, loud ? ui.theme.text : ui.theme.dim, displayText(line.text, kMaxBytes), right - left);
  copyMenu(ui, line.text);
}

}  // namespace ipex_studio
