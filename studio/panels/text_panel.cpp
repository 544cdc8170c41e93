// Bottom tab: the graph after the chosen pass as IR text.
#include <algorithm>
#include <cmath>

#include "studio/panels/panel_list.h"

namespace ipex_studio {
namespace {

class TextPanel : public Panel {
 public:
  explicit TextPanel(const Ui& ui) : ui_(ui) {}
  const char* name() const override { return "text"; }
  const char* title() const override { return "IR text"; }
  PanelPlace place() const override { return PanelPlace::kBottomTab; }

  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) override {
    const JobIndex& index = *snapshot.index;
    const auto last = static_cast<std::int32_t>(index.stages.size()) - 1;
    const std::int32_t stage = selection.after_stage < 0 ? index.default_stage : std::min(selection.after_stage, last);
    const std::int32_t graph = stage < 0 ? -1 : index.stages[stage].graph;
    if (graph < 0 || index.graphs[graph].graph->text.empty()) {
      emptyState(ui_, "No IR text", "Open a model; its TorchScript graph after each pass is shown here as text.");
      return;
    }
    if (shown_ != index.graphs[graph].graph) {
      shown_ = index.graphs[graph].graph;
      splitLines();
    }
    if (beginArea(ui_, "lines", {0, 0}, ui_.theme.panel, {13, 8}, ImGuiWindowFlags_HorizontalScrollbar)) drawLines();
    endArea();
  }

 private:
  void splitLines() {
    lines_.clear();
    const std::string& text = shown_->text;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      lines_.emplace_back(begin, end);
      begin = end + 1;
    }
  }

  void drawLines() const {
    ImGui::PushFont(ui_.fonts.mono);
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, ui_.px(2)});
    const float number_width = ImGui::CalcTextSize("000000").x;
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(lines_.size()), ImGui::GetTextLineHeightWithSpacing());
    while (clipper.Step()) {
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
        const auto [begin, end] = lines_[static_cast<std::size_t>(i)];
        label(ui_.theme.dim, std::to_string(i + 1));
        ImGui::SameLine(ui_.px(13) + number_width, 0);
        label(ui_.theme.text, displayText(shown_->text.substr(begin, std::min<std::size_t>(end - begin, 1000)), 500));
      }
    }
    ImGui::PopStyleVar();
    ImGui::PopFont();
  }

  const Ui& ui_;
  std::shared_ptr<const GraphSnapshot> shown_;
  std::vector<std::pair<std::size_t, std::size_t>> lines_;  // begin, end in shown_->text
};

}  // namespace

std::unique_ptr<Panel> makeTextPanel(const Ui& ui) { return std::make_unique<TextPanel>(ui); }

}  // namespace ipex_studio
