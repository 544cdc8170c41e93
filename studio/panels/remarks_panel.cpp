// Bottom tab: what every pass did and declined, with the reason; a click selects the nodes it is about.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "studio/panels/data_table.h"
#include "studio/panels/panel.h"
#include "studio/panels/table_cells.h"

namespace ipex_studio {
namespace {

constexpr float kRemarkPoints = 25;
enum class Show { kMissed, kApplied, kAll };

class RemarksPanel : public Panel {
 public:
  explicit RemarksPanel(const Ui& ui) : ui_(ui) {}
  const char* name() const override { return "remarks"; }
  const char* title() const override { return "Remarks"; }
  PanelPlace place() const override { return PanelPlace::kBottomTab; }

  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) override {
    const auto& remarks = snapshot.job->remarks;
    if (remarks.empty()) {
      emptyState(ui_, "No remarks", "Passes say here what they did to which node, and why they declined the rest.");
      return;
    }
    if (shown_index_ != snapshot.index) {
      shown_index_ = snapshot.index;
      stale_ = true;
    }
    if (selection.take("remarks.kind")) {
      show_ = show_ == Show::kMissed ? Show::kApplied : show_ == Show::kApplied ? Show::kAll : Show::kMissed;
      stale_ = true;
    }
    drawTools(selection);
    if (stale_) collect(remarks);
    stale_ = false;
    stepByKey(remarks, selection);
    if (rows_.empty()) {
      emptyState(ui_, show_ == Show::kMissed ? "Nothing was declined" : "Nothing matches",
                 "Choose “all” above to see every remark.");
      return;
    }
    drawTable(snapshot, selection);
  }

 private:
  void stepByKey(const std::vector<Remark>& remarks, Selection& selection) {
    const int next = rowByKey(selection, row_by_key_, static_cast<int>(rows_.size()));
    if (next < 0) return;
    row_by_key_ = scroll_to_ = next;
    selection.select(remarks[static_cast<std::size_t>(rows_[static_cast<std::size_t>(next)])].origins, true);
  }

  void drawTools(Selection& selection) {
    const float top = ImGui::GetCursorPosY();
    ImGui::SetCursorPos({ui_.px(10), top + std::floor(ui_.px(7))});
    if (filterField(ui_, selection, "filter by pass, reason, text", filter_.data(), filter_.size(), 240)) stale_ = true;
    constexpr std::array<std::pair<const char*, Show>, 3> kChoices = {
        {{"missed", Show::kMissed}, {"done", Show::kApplied}, {"all", Show::kAll}}};
    for (const auto& [text, show] : kChoices) {
      ImGui::SameLine(0, ui_.px(show == Show::kMissed ? 12 : 2));
      if (!button(ui_, text, text, show == show_ ? ButtonLook::kChosen : ButtonLook::kQuiet, ui_.fonts.head)) continue;
      show_ = show;
      stale_ = true;
    }
    ImGui::SetCursorPosY(top + std::floor(ui_.px(38)));
  }

  void collect(const std::vector<Remark>& remarks) {
    const std::string wanted = lowered(filter_.data());
    rows_.clear();
    row_by_key_ = -1;
    for (std::size_t r = 0; r < remarks.size(); ++r) {
      const Remark& remark = remarks[r];
      if (show_ == Show::kMissed && remark.kind != RemarkKind::kMissed) continue;
      if (show_ == Show::kApplied && remark.kind != RemarkKind::kApplied) continue;
      const bool matches =
          wanted.empty() ||
          lowered(displayText(remark.pass + " " + remark.reason + " " + remark.text, 2000)).find(wanted) !=
              std::string::npos;
      if (matches) rows_.push_back(static_cast<std::int32_t>(r));
    }
  }

  void drawTable(const StudioSnapshot& snapshot, Selection& selection) {
    const ImGuiTableFlags flags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_PadOuterX;
    if (!ImGui::BeginTable("remarks", 5, flags, ImGui::GetContentRegionAvail())) return;
    ImGui::TableSetupColumn("", ImGuiTableColumnFlags_WidthFixed, ui_.px(56));
    ImGui::TableSetupColumn("pass", ImGuiTableColumnFlags_WidthFixed, ui_.px(210));
    ImGui::TableSetupColumn("reason", ImGuiTableColumnFlags_WidthFixed, ui_.px(190));
    ImGui::TableSetupColumn("node", ImGuiTableColumnFlags_WidthFixed, ui_.px(190));
    ImGui::TableSetupColumn("what and why", ImGuiTableColumnFlags_WidthStretch);
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableNextRow(ImGuiTableRowFlags_Headers, ui_.px(26));
    for (int c = 0; c < 5; ++c) {
      ImGui::TableSetColumnIndex(c);
      label(ui_.theme.dim, ImGui::TableGetColumnName(c), ui_.fonts.head);
    }
    if (scroll_to_ >= 0)
      ImGui::SetScrollY(
          std::max(0.F, static_cast<float>(scroll_to_) * ui_.px(kRemarkPoints) - ImGui::GetWindowHeight() / 3));
    scroll_to_ = -1;
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(rows_.size()), ui_.px(kRemarkPoints));
    while (clipper.Step()) {
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
        drawRow(snapshot, rows_[i], i == row_by_key_, selection);
    }
    ImGui::EndTable();
  }

  void drawRow(const StudioSnapshot& snapshot, std::int32_t r, bool reached, Selection& selection) const {
    const Remark& remark = snapshot.job->remarks[r];
    const bool missed = remark.kind == RemarkKind::kMissed;
    ImGui::TableNextRow(ImGuiTableRowFlags_None, ui_.px(kRemarkPoints));
    if (reached || (!selection.empty() && selection.overlaps(remark.origins)))
      ImGui::TableSetBgColor(ImGuiTableBgTarget_RowBg0, ui_.theme.selection);
    ImGui::TableSetColumnIndex(0);
    ImGui::PushID(r);
    const ImVec2 at = ImGui::GetCursorPos();
    if (ImGui::Selectable("##row", false, ImGuiSelectableFlags_SpanAllColumns, {0, ui_.px(kRemarkPoints - 7)})) {
      selection.select(remark.origins, true);
    }
    copyMenu(ui_, fmt::format("{}\t{}\t{}\t{}", remark.pass, remark.reason, nodeName(snapshot, remark), remark.text));
    ImGui::PopID();
    ImGui::SetCursorPos(at);
    label(missed ? ui_.theme.warning : ui_.theme.good, missed ? "missed" : "done");
    cell(1, ui_.theme.text, displayText(remark.pass, 60), nullptr);
    cell(2, ui_.theme.dim, displayText(remark.reason, 60), ui_.fonts.mono);
    cell(3, ui_.theme.dim, nodeName(snapshot, remark), nullptr);
    cell(4, ui_.theme.text, displayText(remark.text, 400), nullptr);
  }

  static std::string nodeName(const StudioSnapshot& snapshot, const Remark& remark) {
    if (remark.origins.empty()) return {};
    const auto known = snapshot.index->origin_by_id.find(remark.origins.front());
    if (known == snapshot.index->origin_by_id.end()) return {};
    const Origin& origin = snapshot.job->model.origins[known->second];
    const std::string name = displayText(origin.module_path.empty() ? origin.kind : origin.module_path, 60);
    return remark.origins.size() > 1 ? fmt::format("{} +{}", name, remark.origins.size() - 1) : name;
  }

  void cell(int column, ImU32 color, const std::string& text, ImFont* font) const {
    ImGui::TableSetColumnIndex(column);
    fittedLabel(ui_, color, text, ImGui::GetContentRegionAvail().x, font);
  }

  const Ui& ui_;
  std::shared_ptr<const JobIndex> shown_index_;
  std::vector<std::int32_t> rows_;
  Show show_ = Show::kMissed;
  bool stale_ = true;
  int row_by_key_ = -1;
  int scroll_to_ = -1;
  std::array<char, 128> filter_{};
};

void fillRemarks(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"pass", "kind", "reason", "text", "origins"};
  for (const Remark& remark : snapshot.job->remarks) {
    table->rows.push_back({remark.pass, std::string(remark.kind == RemarkKind::kMissed ? "missed" : "done"),
                           remark.reason, remark.text, originsText(remark.origins)});
  }
}

std::vector<ActionGroup> remarksActions() { return {{710, {{"remarks.kind", "Remarks: missed, done or all", "R"}}}}; }

}  // namespace

extern const PanelEntry kRemarksPanel;
const PanelEntry kRemarksPanel{
    "remarks",   [](const Ui& ui) -> std::unique_ptr<Panel> { return std::make_unique<RemarksPanel>(ui); },
    fillRemarks, "Remarks: what was not done and why",
    "0",         remarksActions()};

}  // namespace ipex_studio
