// Bottom tab: the IR text before and after the chosen pass side by side, with what changed marked.
#include <algorithm>
#include <cmath>

#include "studio/panels/data_table.h"
#include "studio/panels/panel.h"
#include "studio/panels/table_cells.h"
#include "studio/snapshot/text_diff.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kMaxShownBytes = 500;

class TextPanel : public Panel {
 public:
  explicit TextPanel(const Ui& ui) : ui_(ui) {}
  const char* name() const override { return "text"; }
  const char* title() const override { return "IR text"; }
  PanelPlace place() const override { return PanelPlace::kBottomTab; }

  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) override {
    const JobIndex& index = *snapshot.index;
    const auto last = static_cast<std::int32_t>(index.stages.size()) - 1;
    const std::int32_t after = selection.after_stage < 0 ? index.default_stage : std::min(selection.after_stage, last);
    const std::int32_t before = selection.before_is_previous ? std::max(after - 1, 0)
                                                             : std::clamp(selection.before_stage, 0, std::max(last, 0));
    const std::int32_t after_graph = after < 0 ? -1 : index.stages[after].graph;
    const std::int32_t before_graph = after < 0 ? -1 : index.stages[before].graph;
    if (after_graph < 0 || before_graph < 0 || index.graphs[after_graph].graph->text.empty()) {
      emptyState(ui_, "No IR text", "Open a model; its TorchScript graph after each pass is shown here as text.");
      return;
    }
    if (before_ != index.graphs[before_graph].graph || after_ != index.graphs[after_graph].graph) {
      before_ = index.graphs[before_graph].graph;
      after_ = index.graphs[after_graph].graph;
      before_lines_ = linesOf(before_->text);
      after_lines_ = linesOf(after_->text);
      rows_ = diffLines(before_lines_, after_lines_);
    }
    if (beginArea(ui_, "lines", {0, 0}, ui_.theme.panel, {13, 8})) {
      scrollByKey(selection, "tab");
      drawLines();
    }
    endArea();
  }

 private:
  // Draws both sides, which scroll together. A line that does not fit is cut, and whole in its tooltip.
  void drawLines() const {
    ImGui::PushFont(ui_.fonts.mono);
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, ui_.px(2)});
    const float half = std::floor(ImGui::GetContentRegionAvail().x / 2);
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(rows_.size()), ImGui::GetTextLineHeightWithSpacing());
    while (clipper.Step()) {
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
        const DiffRow& row = rows_[static_cast<std::size_t>(i)];
        const ImVec2 at = ImGui::GetCursorPos();
        drawSide(before_lines_, row.before, row.after < 0 ? "\xE2\x88\x92" : " ", ui_.theme.bad, at.x, at.y, half);
        drawSide(after_lines_, row.after, row.before < 0 ? "+" : " ", ui_.theme.good, at.x + half, at.y, half);
        ImGui::SetCursorPos(at);
        ImGui::Dummy({1, ImGui::GetTextLineHeight()});
      }
    }
    ImGui::PopStyleVar();
    ImGui::PopFont();
  }

  void drawSide(const std::vector<std::string_view>& lines, std::int32_t line, const char* sign, ImU32 sign_color,
                float x, float y, float width) const {
    if (line < 0) return;
    const float number = ImGui::CalcTextSize("00000").x;
    ImGui::SetCursorPos({x, y});
    label(ui_.theme.dim, std::to_string(line + 1));
    const bool changed = sign[0] != ' ';
    if (changed) {
      const ImVec2 low = ImGui::GetItemRectMin();
      ImGui::GetWindowDrawList()->AddRectFilled({low.x + number, low.y},
                                                {low.x + width - ui_.px(8), low.y + ImGui::GetTextLineHeight()},
                                                withAlpha(sign_color, 0.13F));
    }
    ImGui::SetCursorPos({x + number + ui_.px(4), y});
    label(sign_color, sign);
    ImGui::SetCursorPos({x + number + ui_.px(18), y});
    const std::string_view text = lines[static_cast<std::size_t>(line)];
    fittedLabel(ui_, ui_.theme.text, displayText(std::string(text.substr(0, 2 * kMaxShownBytes)), kMaxShownBytes),
                width - number - ui_.px(30));
  }

  const Ui& ui_;
  std::shared_ptr<const GraphSnapshot> before_;
  std::shared_ptr<const GraphSnapshot> after_;
  std::vector<std::string_view> before_lines_;  // lines of before_->text
  std::vector<std::string_view> after_lines_;
  std::vector<DiffRow> rows_;
};

void fillText(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"line", "text"};
  const JobIndex& index = *snapshot.index;
  const std::int32_t g =
      index.default_stage < 0 ? -1 : index.stages[static_cast<std::size_t>(index.default_stage)].graph;
  if (g < 0) return;
  const std::string& text = index.graphs[static_cast<std::size_t>(g)].graph->text;
  double line = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    table->rows.push_back({++line, text.substr(at, end - at)});
    at = end + 1;
  }
}

}  // namespace

extern const PanelEntry kTextPanel;
const PanelEntry kTextPanel{"text",
                            [](const Ui& ui) -> std::unique_ptr<Panel> { return std::make_unique<TextPanel>(ui); },
                            fillText, "IR text and what changed in it", "Shift+I"};

}  // namespace ipex_studio
