// Bottom tab: the source of the model beside the graph. A click on a line selects the nodes that come from it, and the
// lines of what is selected are marked.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "studio/panels/data_table.h"
#include "studio/panels/panel.h"
#include "studio/panels/table_cells.h"
#include "studio/snapshot/source_lines.h"

namespace ipex_studio {
namespace {

constexpr float kLinePoints = 20;
constexpr std::size_t kMaxLineBytes = 500;
constexpr std::uint64_t kNothingSeen = ~std::uint64_t{0};

class SourcePanel : public Panel {
 public:
  explicit SourcePanel(const Ui& ui) : ui_(ui) {}
  const char* name() const override { return "source"; }
  const char* title() const override { return "Source"; }
  PanelPlace place() const override { return PanelPlace::kBottomTab; }

  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) override {
    if (!snapshot.source || (!hasSource(*snapshot.source, true) && !hasSource(*snapshot.source, false))) {
      const bool recorded = snapshot.status.state == JobState::kRecorded;
      emptyState(ui_, "No source",
                 recorded ? "This run was recorded without it; open the model itself to see its code."
                          : "Open a model; its code is shown here, with the time and the nodes of every line.");
      return;
    }
    const bool both = hasSource(*snapshot.source, true) && hasSource(*snapshot.source, false);
    if (both && selection.take("source.language")) choose(!python_);
    if (!both && python_ != hasSource(*snapshot.source, true)) choose(!python_);
    if (shown_source_ != snapshot.source || shown_index_ != snapshot.index) collect(snapshot);
    drawTools(both, selection);
    stepByKey(selection);
    if (beginArea(ui_, "lines", {0, 0}, ui_.theme.panel, {0, 4})) {
      reveal(selection);
      drawLines(selection);
    }
    endArea();
  }

 private:
  void choose(bool python) {
    python_ = python;
    shown_source_.reset();
    seen_ = kNothingSeen;
  }

  void collect(const StudioSnapshot& snapshot) {
    shown_source_ = snapshot.source;
    shown_index_ = snapshot.index;
    lines_ = sourceLines(*shown_source_, *shown_index_, python_);
    most_ns_ = 0;
    stops_.clear();
    for (std::size_t l = 0; l < lines_.size(); ++l) {
      most_ns_ = std::max(most_ns_, lines_[l].made.empty() ? 0 : lines_[l].time_ns);
      if (!lines_[l].nodes.empty()) stops_.push_back(static_cast<int>(l));
    }
  }

  void drawTools(bool both, const Selection& selection) {
    const float top = ImGui::GetCursorPosY();
    ImGui::SetCursorPos({ui_.px(10), top + std::floor(ui_.px(5))});
    for (const bool python : {true, false}) {
      if (!both) break;
      const char* text = python ? "Python" : "TorchScript";
      if (button(ui_, text, text, python == python_ ? ButtonLook::kChosen : ButtonLook::kQuiet, ui_.fonts.head))
        choose(python);
      if (ImGui::IsItemHovered())
        tooltip(python ? "What the author wrote, as the model's file recalls it."
                       : "The code in the model's file, which is what runs.");
      ImGui::SameLine(0, ui_.px(2));
    }
    ImGui::SetCursorPos({both ? ImGui::GetCursorPosX() + ui_.px(12) : ui_.px(14), top + std::floor(ui_.px(10))});
    if (seen_ != selection.generation()) {
      const std::string place = selection.empty() ? "" : sourcePlace(*shown_source_, selection.origins().front());
      place_ = place.empty() ? "A click on a line selects its nodes; selecting a node marks its lines."
                             : "written at " + place;
    }
    const float right = ImGui::GetWindowWidth() - numbersWidth();
    fittedLabel(ui_, ui_.theme.dim, place_, right - ImGui::GetCursorPosX() - ui_.px(10));
    ImGui::SetCursorPosY(top + std::floor(ui_.px(10)));
    labelRight(ui_.theme.dim, "nodes", right + ui_.px(70), ui_.fonts.head);
    if (ImGui::IsItemHovered()) tooltip("Nodes of the model that come from this line.");
    ImGui::SameLine();
    labelRight(ui_.theme.dim, "ms", ImGui::GetWindowWidth() - ui_.px(24), ui_.fonts.head);
    if (ImGui::IsItemHovered())
      tooltip("Time of the operations that contain nodes of this line. One operation may stand for several lines.");
    ImGui::SetCursorPosY(top + std::floor(ui_.px(34)));
    hairline(ui_);
  }

  float numbersWidth() const { return std::floor(ui_.px(170)); }

  void stepByKey(Selection& selection) {
    const auto at = std::find(stops_.begin(), stops_.end(), reached_);
    const int next = rowByKey(selection, at == stops_.end() ? -1 : static_cast<int>(at - stops_.begin()),
                              static_cast<int>(stops_.size()));
    if (next < 0) return;
    reached_ = stops_[static_cast<std::size_t>(next)];
    selection.select(lines_[static_cast<std::size_t>(reached_)].nodes, true);
    own_ = selection.generation();
    scroll_to_ = reached_;
  }

  // Brings the line of a node that was selected elsewhere into view.
  void reveal(const Selection& selection) {
    if (seen_ != selection.generation()) {
      seen_ = selection.generation();
      // A line that was chosen here stays where it is.
      if (seen_ != own_)
        scroll_to_ = reached_ =
            selection.empty() ? -1 : lineToShow(*shown_source_, lines_, selection.origins().front());
    }
    if (scroll_to_ >= 0)
      ImGui::SetScrollY(std::max(0.F, static_cast<float>(scroll_to_) * lineHeight() - ImGui::GetWindowHeight() / 3));
    scroll_to_ = -1;
  }

  float lineHeight() const { return std::floor(ui_.px(kLinePoints)); }

  void drawLines(Selection& selection) {
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(lines_.size()), lineHeight());
    while (clipper.Step()) {
      for (int l = clipper.DisplayStart; l < clipper.DisplayEnd; ++l) {
        const ImVec2 at = ImGui::GetCursorScreenPos();
        ImGui::PushID(l);
        const bool clicked = ImGui::InvisibleButton("line", {ImGui::GetContentRegionAvail().x, lineHeight()});
        const SourceLine& line = lines_[static_cast<std::size_t>(l)];
        if (line.number == 0) drawHead(line, at);
        if (line.number != 0) drawLine(line, at, selection);
        if (line.number != 0) copyMenu(ui_, std::string(line.text));
        ImGui::PopID();
        if (!clicked || line.nodes.empty()) continue;
        selection.select(line.nodes, true);
        own_ = selection.generation();
        reached_ = l;
      }
    }
    ImGui::PopStyleVar();
  }

  void drawHead(const SourceLine& line, ImVec2 at) const {
    const SourceFile& file = shown_source_->files[static_cast<std::size_t>(line.file)];
    const float width = ImGui::GetWindowWidth();
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddRectFilled(at, {at.x + width, at.y + lineHeight()}, ui_.theme.raised);
    std::string text = displayText(file.name, 300);
    if (file.cut) text += "  (long: not all of it is kept)";
    drawFittedText(list, ui_.fonts.head, ui_.fonts.head->FontSize,
                   {at.x + ui_.px(14), at.y + std::floor((lineHeight() - ui_.fonts.head->FontSize) / 2)},
                   width - ui_.px(40), ui_.theme.text, text);
  }

  void drawLine(const SourceLine& line, ImVec2 at, const Selection& selection) const {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const float width = ImGui::GetWindowWidth(), high = lineHeight();
    const bool gives = !selection.empty() && selection.overlaps(line.made);
    const bool leads = !gives && !selection.empty() && selection.overlaps(line.led);
    const bool active = !line.nodes.empty();
    if (active && ImGui::IsItemHovered()) list->AddRectFilled(at, {at.x + width, at.y + high}, ui_.theme.raised);
    if (gives || leads)
      list->AddRectFilled(at, {at.x + width, at.y + high}, withAlpha(ui_.theme.selection, gives ? 1.F : 0.45F));
    // A bar at the left tells lines with nodes from others: full for a line that gives them, thin for one that calls.
    if (active) {
      const ImU32 color = gives || leads ? ui_.theme.accent : withAlpha(ui_.theme.accent, 0.55F);
      list->AddRectFilled({at.x, at.y + 1}, {at.x + ui_.px(line.made.empty() ? 1.5F : 4), at.y + high - 1}, color);
    }
    ImFont* const mono = ui_.fonts.mono;
    const float y = at.y + std::floor((high - mono->FontSize) / 2);
    const std::string number = std::to_string(line.number);
    const float digits = mono->CalcTextSizeA(mono->FontSize, 1e6F, 0, number.c_str()).x;
    list->AddText(mono, mono->FontSize, {at.x + ui_.px(52) - digits, y}, ui_.theme.dim, number.c_str());
    const std::string text = displayText(std::string(line.text.substr(0, 2 * kMaxLineBytes)), kMaxLineBytes);
    drawFittedText(list, mono, mono->FontSize, {at.x + ui_.px(66), y}, width - numbersWidth() - ui_.px(76),
                   active ? ui_.theme.text : ui_.theme.dim, text);
    if (active) drawNumbers(line, at, y);
  }

  void drawNumbers(const SourceLine& line, ImVec2 at, float y) const {
    ImDrawList* list = ImGui::GetWindowDrawList();
    ImFont* const mono = ui_.fonts.mono;
    const float left = at.x + ImGui::GetWindowWidth() - numbersWidth();
    const auto right = [&](const std::string& text, float edge, ImU32 color) {
      const float size = mono->CalcTextSizeA(mono->FontSize, 1e6F, 0, text.c_str()).x;
      list->AddText(mono, mono->FontSize, {edge - size, y}, color, text.c_str());
    };
    const ImU32 color = line.made.empty() ? ui_.theme.dim : ui_.theme.text;
    right(std::to_string(line.nodes.size()), left + ui_.px(70), color);
    if (line.time_ns <= 0) return;
    right(fmt::format("{:.3g}", line.time_ns / 1e6), at.x + ImGui::GetWindowWidth() - ui_.px(24), color);
    if (line.made.empty() || most_ns_ <= 0) return;
    const float length = ui_.px(146) * static_cast<float>(line.time_ns / most_ns_);
    list->AddRectFilled({left, at.y + lineHeight() - ui_.px(2)}, {left + length, at.y + lineHeight()},
                        ui_.theme.warning);
  }

  const Ui& ui_;
  std::shared_ptr<const SourceRecord> shown_source_;
  std::shared_ptr<const JobIndex> shown_index_;
  std::vector<SourceLine> lines_;  // in the chosen language
  std::vector<int> stops_;         // indices of those with nodes
  double most_ns_ = 0;             // longest time of a line that gives nodes
  bool python_ = true;
  int reached_ = -1;  // line that keys go on from
  int scroll_to_ = -1;
  std::string place_;                  // where the selected node was written
  std::uint64_t seen_ = kNothingSeen;  // Selection::generation() of what was brought into view
  std::uint64_t own_ = kNothingSeen;   // the same of what was selected here last
};

void fillSource(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"language", "file", "line", "text", "nodes", "time_ms", "origins"};
  if (!snapshot.source) return;
  for (const bool python : {true, false}) {
    for (const SourceLine& line : sourceLines(*snapshot.source, *snapshot.index, python)) {
      if (line.number == 0) continue;
      table->rows.push_back({std::string(python ? "python" : "torchscript"),
                             snapshot.source->files[static_cast<std::size_t>(line.file)].name,
                             static_cast<double>(line.number), std::string(line.text),
                             whole(static_cast<std::int64_t>(line.nodes.size())), ms(orUnknown(line.time_ns)),
                             originsText(line.nodes)});
    }
  }
}

std::vector<ActionGroup> sourceActions() {
  return {{715, {{"source.language", "Source: Python or TorchScript", "Shift+Y"}}}};
}

}  // namespace

extern const PanelEntry kSourcePanel;
const PanelEntry kSourcePanel{
    "source",   [](const Ui& ui) -> std::unique_ptr<Panel> { return std::make_unique<SourcePanel>(ui); },
    fillSource, "Source: lines and their nodes",
    "Y",        sourceActions()};

}  // namespace ipex_studio
