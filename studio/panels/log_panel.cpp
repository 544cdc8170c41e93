// Bottom tab: progress with cancel, and the log.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "studio/panels/data_table.h"
#include "studio/panels/panel.h"
#include "studio/panels/table_cells.h"

namespace ipex_studio {
namespace {

class LogPanel : public Panel {
 public:
  explicit LogPanel(const Ui& ui) : ui_(ui) {}
  const char* name() const override { return "log"; }
  const char* title() const override { return "Log"; }
  PanelPlace place() const override { return PanelPlace::kBottomTab; }

  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) override {
    drawStatus(snapshot, commands);
    const std::vector<LogLine>& log = *snapshot.log;
    if (log.empty()) {
      emptyState(ui_, "The log is empty", "What the studio and its engine do is written here.");
      return;
    }
    if (beginArea(ui_, "lines", {0, 0}, ui_.theme.panel, {13, 6})) {
      scrollByKey(selection, "tab");
      drawLines(log);
    }
    endArea();
  }

 private:
  void drawStatus(const StudioSnapshot& snapshot, Commands& commands) const {
    const JobStatus& status = snapshot.status;
    const bool working = status.state == JobState::kWorking;
    if (!working && status.message.empty()) return;
    const float top = ImGui::GetCursorPosY();
    ImGui::SetCursorPos({ui_.px(13), top + std::floor(ui_.px(12))});
    if (!working) {
      const bool failed = status.state == JobState::kFailed;
      label(failed ? ui_.theme.bad : ui_.theme.good, failed                                 ? "failed"
                                                     : status.state == JobState::kCancelled ? "cancelled"
                                                                                            : "done");
      ImGui::SameLine(0, ui_.px(10));
      fittedLabel(ui_, ui_.theme.text, displayText(status.message, 600), ImGui::GetContentRegionAvail().x - ui_.px(14));
    } else {
      std::string text = displayText(status.stage.empty() ? "working" : status.stage, 80);
      if (status.fraction >= 0) text += fmt::format(" · {:.0f} %", std::min(status.fraction, 1.0) * 100);
      if (status.eta_s >= 0) text += fmt::format(" · about {:.0f} s left", std::ceil(status.eta_s));
      label(ui_.theme.text, text);
      ImGui::SameLine(0, ui_.px(18));
      drawBar(status.fraction, top);
      ImGui::SetCursorPosY(top + std::floor(ui_.px(4)));
      if (button(ui_, "cancel", "Cancel", ButtonLook::kPlain)) commands.post(CancelCommand{});
    }
    ImGui::SetCursorPosY(top + std::floor(ui_.px(39)));
    hairline(ui_);
  }

  void drawBar(double fraction, float top) const {
    const float width = ui_.px(260);
    const ImVec2 window = ImGui::GetWindowPos();
    const ImVec2 at = {ImGui::GetCursorScreenPos().x, window.y + top + std::floor(ui_.px(17))};
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddRectFilled(at, {at.x + width, at.y + ui_.px(5)}, ui_.theme.line, ui_.px(2));
    const float share = static_cast<float>(std::clamp(fraction, 0.0, 1.0));
    if (share > 0) list->AddRectFilled(at, {at.x + width * share, at.y + ui_.px(5)}, ui_.theme.accent, ui_.px(2));
    ImGui::SetCursorPosX(at.x - window.x + width + ui_.px(18));
  }

  void drawLines(const std::vector<LogLine>& log) {
    ImGui::PushFont(ui_.fonts.mono);
    const bool at_end = ImGui::GetScrollY() >= ImGui::GetScrollMaxY() - 1;
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(log.size()), ImGui::GetTextLineHeightWithSpacing());
    while (clipper.Step()) {
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
        const LogLine& line = log[static_cast<std::size_t>(i)];
        label(ui_.theme.dim, fmt::format("{:>8.2f} s", line.time_s));
        ImGui::SameLine(0, ui_.px(14));
        const bool error = line.level == LogLevel::kError;
        const bool warning = line.level == LogLevel::kWarning;
        if (error || warning) {
          label(error ? ui_.theme.bad : ui_.theme.warning, error ? "error  " : "warning");
          ImGui::SameLine(0, ui_.px(10));
        }
        label(ui_.theme.text, displayText(line.text, 800));
        copyMenu(ui_, line.text);
      }
    }
    if (at_end && lines_ != log.size()) ImGui::SetScrollHereY(1);
    lines_ = log.size();
    ImGui::PopFont();
  }

  const Ui& ui_;
  std::size_t lines_ = 0;
};

void fillLog(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"time_s", "level", "text"};
  constexpr const char* kLevels[] = {"info", "warning", "error"};
  for (const LogLine& line : *snapshot.log)
    table->rows.push_back({line.time_s, std::string(kLevels[static_cast<std::size_t>(line.level)]), line.text});
}

}  // namespace

extern const PanelEntry kLogPanel;
const PanelEntry kLogPanel{"log", [](const Ui& ui) -> std::unique_ptr<Panel> { return std::make_unique<LogPanel>(ui); },
                           fillLog, "Log", "Shift+L"};

}  // namespace ipex_studio
