// Bottom tab: every operation of a run with its time; filtered, grouped, sorted, and only the rows in view are drawn.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "studio/panels/data_table.h"
#include "studio/panels/operations_table.h"
#include "studio/panels/panel.h"
#include "studio/panels/table_cells.h"

namespace ipex_studio {
namespace {

constexpr std::array<std::pair<const char*, OperationGrouping>, 5> kGroupings = {{
    {"no groups", OperationGrouping::kNone},
    {"by kind", OperationGrouping::kKind},
    {"by module", OperationGrouping::kModule},
    {"by kernel", OperationGrouping::kKernel},
    {"by precision", OperationGrouping::kPrecision},
}};

int columnOf(OperationColumn column) { return static_cast<int>(column); }

std::vector<TableColumn> tableColumns() {
  // In narrow windows columns whose content stands elsewhere make room for the names.
  return {{"operation", 0, false, 0, 2.2F},
          {"kind", 96, false, 1100},
          {"kernel", 0, false, 0, 1.4F, "What computed it: as the library names it, or our own kernel."},
          {"layout", 128, false, 1400, 1, "How values lie in memory: read → written."},
          {"output", 120, false, 1000, 1,
           "Sizes of the result. 4 × 2×64×56×56: a batch of 8 is computed as four slices of 2 samples, one after the "
           "other."},
          {"precision", 76, false, 1400},
          {"ms", 60, true, 0, 1, "Median over all profiled runs."},
          {"±", 56, true, 0, 1, "Half of the 95 % interval of the median, in ms."},
          {"share", 60, true, 0, 1, "Of the whole run's median."},
          {"", 112, false},
          {"GFLOP/s", 70, true, 1100, 1, "Multiplications and additions per second, as the operation needs them."},
          {"speed-up", 74, true, 0, 1, "How many times faster than the same nodes of the baseline."}};
}

class OperationsPanel : public Panel {
 public:
  explicit OperationsPanel(const Ui& ui)
      : ui_(ui), table_(ui, tableColumns(), columnOf(OperationColumn::kTime), true) {}
  const char* name() const override { return "operations"; }
  const char* title() const override { return "Operations"; }
  PanelPlace place() const override { return PanelPlace::kBottomTab; }

  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) override {
    const JobIndex& index = *snapshot.index;
    const bool have_baseline = !index.baseline.rows.empty();
    const bool have_optimized = !index.optimized.rows.empty();
    if (!have_baseline && !have_optimized) {
      drawEmpty(snapshot);
      return;
    }
    const bool baseline = !have_optimized || (show_baseline_ && have_baseline);
    const RunIndex& run = baseline ? index.baseline : index.optimized;
    if (shown_index_ != snapshot.index || shown_baseline_ != baseline) {
      shown_index_ = snapshot.index;
      shown_baseline_ = baseline;
      kinds_present_ = 0;
      for (const OperationRow& row : run.rows) kinds_present_ |= 1U << static_cast<unsigned>(row.group);
      stale_ = true;
    }
    act(have_baseline && have_optimized, selection);
    drawTools(have_baseline && have_optimized, selection);
    if (table_.sortByKey(selection) || stale_) collect(run);
    moveByKey(run, selection);
    const float height = ImGui::GetContentRegionAvail().y - std::floor(ui_.px(28));
    if (reveal_generation_ != selection.revealGeneration()) scrollTo(run, selection);
    reveal_generation_ = selection.revealGeneration();
    stale_ = table_.draw("operations", height, static_cast<int>(list_.lines.size()),
                         [&](int i) { drawLine(run, i, selection); });
    drawFooter(snapshot, run);
  }

 private:
  void drawEmpty(const StudioSnapshot& snapshot) const {
    switch (snapshot.status.state) {
      case JobState::kWorking:
        return emptyState(ui_, "No times yet", "They appear when the first variant has been measured.");
      case JobState::kReady:
        return emptyState(ui_, "Nothing was measured yet",
                          "Press Optimize: the baseline and the optimized model are measured, operation by operation.");
      case JobState::kEmpty:
        return emptyState(ui_, "Nothing was measured yet", "Open a model first: Ctrl+O.");
      case JobState::kRecorded:
        return emptyState(ui_, "No times were recorded",
                          "This job did not measure; choose another one in the tab Compare by a double click. " +
                              pressOptimize(snapshot) + " to measure it.");
      default:
        return emptyState(ui_, "No times were recorded", "The log says what happened.");
    }
  }

  // Draws a quiet button in the row of tools if there is room for it; true if it was clicked.
  bool tool(const char* id, const std::string& text, bool chosen, float gap) const {
    ImGui::SameLine(0, ui_.px(gap));
    if (ImGui::GetCursorPosX() + buttonSize(ui_, text, ui_.fonts.head).x > ImGui::GetWindowWidth()) return false;
    return button(ui_, id, text, chosen ? ButtonLook::kChosen : ButtonLook::kQuiet, ui_.fonts.head);
  }

  // Carries out requested actions.
  void act(bool both, Selection& selection) {
    if (selection.take("operations.baseline") && both) {
      show_baseline_ = !show_baseline_;
      stale_ = true;
    }
    if (selection.take("operations.kind")) {
      // The action goes from kind to kind in the order of the chips, and from the last to all of them.
      const std::uint32_t above = query_.kinds == 0 ? kinds_present_ : kinds_present_ & ~((query_.kinds << 1U) - 1);
      query_.kinds = above & (~above + 1);
      stale_ = true;
    }
    const bool on_group = line_by_key_ >= 0 && static_cast<std::size_t>(line_by_key_) < list_.lines.size() &&
                          list_.lines[static_cast<std::size_t>(line_by_key_)].row < 0;
    if (selection.take("row.open") && on_group) {
      const int line = line_by_key_;
      toggleGroup(list_.groups[static_cast<std::size_t>(list_.lines[static_cast<std::size_t>(line)].group)].name);
      list_ = listOperations(shown_baseline_ ? shown_index_->baseline : shown_index_->optimized, query_, open_groups_);
    }
  }

  void toggleGroup(const std::string& name) {
    const auto open = std::find(open_groups_.begin(), open_groups_.end(), name);
    if (open == open_groups_.end()) {
      open_groups_.push_back(name);
    } else {
      open_groups_.erase(open);
    }
  }

  void drawTools(bool both, Selection& selection) {
    const float top = ImGui::GetCursorPosY();
    ImGui::SetCursorPos({ui_.px(10), top + std::floor(ui_.px(7))});
    if (filterField(ui_, selection, "filter: relu kernel:brg -module:layer4 ms>0.1", filter_.data(), filter_.size(),
                    320)) {
      query_.words = filter_.data();
      stale_ = true;
    }
    if (ImGui::IsItemHovered() && !ImGui::IsItemActive()) {
      tooltip(
          "Words that must all be found. kind: kernel: layout: output: precision: module: look into one column, "
          "ms>0.1 ms<1 share>2 compare, - turns round.");
    }
    const auto grouping = std::find_if(kGroupings.begin(), kGroupings.end(),
                                       [&](const auto& choice) { return choice.second == query_.grouping; });
    if (tool("grouping", std::string(grouping->first) + " ▼", query_.grouping != OperationGrouping::kNone, 10))
      ImGui::OpenPopup("grouping");
    drawGroupings();
    for (const bool baseline : {false, true}) {
      if (!both) break;
      if (!tool(baseline ? "baseline" : "optimized", baseline ? "baseline" : "optimized", baseline == show_baseline_,
                baseline ? 2 : 10))
        continue;
      show_baseline_ = baseline;
      stale_ = true;
    }
    bool first = true;
    for (int g = 0; g < kKindGroups; ++g) {
      if ((kinds_present_ >> static_cast<unsigned>(g) & 1U) == 0) continue;
      const std::string text = kindGroupName(static_cast<KindGroup>(g));
      const std::uint32_t bit = 1U << static_cast<unsigned>(g);
      if (tool(text.c_str(), text, (query_.kinds & bit) != 0, first ? 14 : 2)) {
        query_.kinds ^= bit;
        stale_ = true;
      }
      first = false;
    }
    // The row of tools ends here even if the last of them had no room.
    ImGui::SetCursorPos({0, top + std::floor(ui_.px(38))});
  }

  void drawGroupings() {
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {ui_.px(8), ui_.px(8)});
    if (beginMenu("grouping")) {
      for (const auto& [text, grouping] : kGroupings) {
        if (!button(ui_, text, text, grouping == query_.grouping ? ButtonLook::kChosen : ButtonLook::kQuiet)) continue;
        query_.grouping = grouping;
        open_groups_.clear();
        stale_ = true;
        ImGui::CloseCurrentPopup();
      }
      ImGui::EndPopup();
    }
    ImGui::PopStyleVar();
  }

  void collect(const RunIndex& run) {
    query_.sort = static_cast<OperationColumn>(table_.sortColumn());
    query_.descending = table_.descending();
    list_ = listOperations(run, query_, open_groups_);
    line_by_key_ = -1;
  }

  void moveByKey(const RunIndex& run, Selection& selection) {
    for (const auto& [text, grouping] : kGroupings) {
      if (!selection.take(std::string("group.") + (grouping == OperationGrouping::kNone ? "none" : text + 3))) continue;
      query_.grouping = grouping;
      open_groups_.clear();
      collect(run);
    }
    const int line = rowByKey(selection, line_by_key_, static_cast<int>(list_.lines.size()));
    if (line < 0) return;
    line_by_key_ = line;
    table_.scrollTo(line);
    const std::int32_t row = list_.lines[static_cast<std::size_t>(line)].row;
    if (row >= 0) selection.select(run.rows[static_cast<std::size_t>(row)].origins, true);
  }

  void scrollTo(const RunIndex& run, const Selection& selection) {
    for (std::size_t i = 0; i < list_.lines.size(); ++i) {
      const std::int32_t row = list_.lines[i].row;
      if (row < 0 || !selection.overlaps(run.rows[static_cast<std::size_t>(row)].origins)) continue;
      table_.scrollTo(static_cast<int>(i));
      return;
    }
  }

  void drawLine(const RunIndex& run, int position, Selection& selection) {
    const OperationLine& line = list_.lines[static_cast<std::size_t>(position)];
    if (line.row < 0) {
      drawGroup(list_.groups[static_cast<std::size_t>(line.group)], position);
    } else {
      drawRow(run.rows[static_cast<std::size_t>(line.row)], position, line.group >= 0 ? ui_.px(20) : 0, selection);
    }
  }

  void drawGroup(const OperationGroup& group, int position) {
    const std::string name = displayText(group.name, 80);
    const std::string text = fmt::format("{} {}  ({})", group.open ? "▼" : "▶", name, group.rows);
    if (table_.beginRow(position, position == line_by_key_, text, ui_.theme.text, 0)) {
      toggleGroup(group.name);
      stale_later_ = true;
    }
    table_.number(columnOf(OperationColumn::kTime), ui_.theme.text, fmt::format("{:.3f}", group.total_ns / 1e6));
    table_.number(columnOf(OperationColumn::kShare), ui_.theme.text, fmt::format("{:.1f} %", group.share * 100));
    table_.bar(columnOf(OperationColumn::kBar), ui_.theme.kind(group.kind), shareOfWidest(group.share));
  }

  double shareOfWidest(double share) const { return list_.widest_share > 0 ? share / list_.widest_share : 0; }

  void drawRow(const OperationRow& row, int position, float indent, Selection& selection) {
    if (table_.beginRow(position, selection.overlaps(row.origins), row.name, ui_.theme.text, ui_.theme.kind(row.group),
                        indent)) {
      selection.select(row.origins, true);
      line_by_key_ = position;
    }
    const Theme& theme = ui_.theme;
    table_.text(columnOf(OperationColumn::kKind), theme.dim, row.kind);
    table_.text(columnOf(OperationColumn::kKernel), row.step < 0 ? theme.warning : theme.text, row.kernel,
                ui_.fonts.mono);
    table_.text(columnOf(OperationColumn::kLayout), theme.dim, row.layout, ui_.fonts.mono);
    table_.text(columnOf(OperationColumn::kOutput), theme.dim, row.output, ui_.fonts.mono);
    table_.text(columnOf(OperationColumn::kPrecision), theme.text, row.precision);
    table_.number(columnOf(OperationColumn::kTime), theme.text, fmt::format("{:.3f}", row.time.p50_ns / 1e6));
    table_.number(columnOf(OperationColumn::kSpread), theme.dim, fmt::format("±{:.3f}", row.time.half_width_ns / 1e6));
    table_.number(columnOf(OperationColumn::kShare), theme.text, fmt::format("{:.1f} %", row.share * 100));
    table_.bar(columnOf(OperationColumn::kBar), theme.kind(row.group), shareOfWidest(row.share));
    table_.number(columnOf(OperationColumn::kSpeed), theme.text,
                  row.gflops_per_s > 0 ? fmt::format("{:.0f}", row.gflops_per_s) : "–");
    const double ratio = row.time.p50_ns > 0 ? row.baseline_ns / row.time.p50_ns : 0;
    const ImU32 tone = ratio >= 1.02 ? theme.good : ratio > 0 && ratio <= 0.98 ? theme.bad : theme.dim;
    table_.number(columnOf(OperationColumn::kBaseline), tone, ratio > 0 ? fmt::format("{:.2f}×", ratio) : "–");
  }

  void drawFooter(const StudioSnapshot& snapshot, const RunIndex& run) {
    const double latency = run.latency.p50_ns;
    const bool all = list_.rows == static_cast<std::int32_t>(run.rows.size());
    std::string text = all ? fmt::format("{} operations · {} in operations", run.rows.size(), formatTime(run.steps_ns))
                           : fmt::format("{} of {} operations · {} of {}", list_.rows, run.rows.size(),
                                         formatTime(list_.total_ns), formatTime(run.steps_ns));
    if (latency > 0) text += " · " + unattributedText(run.unattributed_ns, latency, run.step_scale);
    text += fmt::format(" · {} runs", run.latency.samples);
    const MachineFacts& machine = snapshot.job->machine;
    if (!machine.cpu.empty()) text += " · " + displayText(machine.cpu, 40) + ", " + displayText(machine.isa, 24);
    if (!machine.libtorch.empty())
      text += " · libtorch " + displayText(machine.libtorch, 16) + ", oneDNN " + displayText(machine.onednn, 16);
    ImGui::SetCursorPos({ui_.px(10), ImGui::GetWindowHeight() - std::floor(ui_.px(24))});
    fittedLabel(ui_, ui_.theme.dim, text, ImGui::GetWindowWidth() - ui_.px(26));
    stale_ = stale_ || stale_later_;
    stale_later_ = false;
  }

  const Ui& ui_;
  DataTable table_;
  OperationQuery query_;
  OperationList list_;
  std::vector<std::string> open_groups_;
  std::shared_ptr<const JobIndex> shown_index_;
  std::uint32_t kinds_present_ = 0;
  bool shown_baseline_ = false;
  bool show_baseline_ = false;
  bool stale_ = true;
  bool stale_later_ = false;  // true: a group was opened while lines were drawn
  int line_by_key_ = -1;
  std::array<char, 160> filter_{};
  std::uint64_t reveal_generation_ = 0;
};

void fillOperations(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"variant",       "operation", "kind",        "kernel",      "device",
                    "copy",          "layout",    "output",      "precision",   "time_ms",
                    "half_width_ms", "share",     "gflop_per_s", "baseline_ms", "origins"};
  for (const auto& [variant, run] : runsOf(*snapshot.index)) {
    for (const OperationRow& row : run->rows) {
      table->rows.push_back({std::string(variant), row.name, row.kind, row.kernel, row.device,
                             std::string(row.place == StepPlace::kCopies ? "yes" : "no"), row.layout, row.output,
                             row.precision, ms(row.time.p50_ns), ms(row.time.half_width_ns), row.share,
                             orUnknown(row.gflops_per_s), orUnknown(ms(row.baseline_ns)), originsText(row.origins)});
    }
  }
}

std::vector<ActionGroup> operationsActions() {
  return {{700,
           {{"operations.baseline", "Operations: optimized or baseline", "V"},
            {"operations.kind", "Operations: only the next kind, then all", "G"}}},
          {850,
           {{"group.none", "Operations: no groups", ""},
            {"group.kind", "Operations: group by kind", ""},
            {"group.module", "Operations: group by module", ""},
            {"group.kernel", "Operations: group by kernel", ""},
            {"group.precision", "Operations: group by precision", ""}}}};
}

}  // namespace

extern const PanelEntry kOperationsPanel;
const PanelEntry kOperationsPanel{
    "operations",
    [](const Ui& ui) -> std::unique_ptr<Panel> { return std::make_unique<OperationsPanel>(ui); },
    fillOperations,
    "Operations",
    "2",
    operationsActions()};

}  // namespace ipex_studio
