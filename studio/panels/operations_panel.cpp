// Bottom tab: every operation of a run with its time; sorted, filtered, and only the rows in view are drawn.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <numeric>

#include "studio/panels/panel_list.h"

namespace ipex_studio {
namespace {

enum Column {
  kName,
  kKind,
  kKernel,
  kLayout,
  kOutput,
  kPrecision,
  kTime,
  kSpread,
  kShare,
  kBar,
  kSpeed,
  kBaseline,
  kColumns
};

constexpr float kRowPoints = 25;

std::string lowered(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Three-way comparison of two rows in one column.
int compareRows(const OperationRow& a, const OperationRow& b, int column) {
  const auto number = [](double x, double y) { return x < y ? -1 : x > y ? 1 : 0; };
  switch (column) {
    case kName:
      return a.name.compare(b.name);
    case kKind:
      return a.kind.compare(b.kind);
    case kKernel:
      return a.kernel.compare(b.kernel);
    case kLayout:
      return a.layout.compare(b.layout);
    case kOutput:
      return a.output.compare(b.output);
    case kPrecision:
      return a.precision.compare(b.precision);
    case kSpread:
      return number(a.time.half_width_ns, b.time.half_width_ns);
    case kSpeed:
      return number(a.gflops_per_s, b.gflops_per_s);
    case kBaseline: {
      const auto ratio = [](const OperationRow& row) {
        return row.time.p50_ns > 0 ? row.baseline_ns / row.time.p50_ns : 0;
      };
      return number(ratio(a), ratio(b));
    }
    default:
      return number(a.time.p50_ns, b.time.p50_ns);
  }
}

class OperationsPanel : public Panel {
 public:
  explicit OperationsPanel(const Ui& ui) : ui_(ui) {}
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
      stale_ = true;
    }
    drawTools(have_baseline && have_optimized, run);
    drawTable(run, selection);
    drawFooter(snapshot, run);
  }

 private:
  void drawEmpty(const StudioSnapshot& snapshot) const {
    switch (snapshot.status.state) {
      case JobState::kWorking:
        return emptyState(ui_, "No times yet", "They appear when the first variant has been measured.");
      case JobState::kReady:
        return emptyState(ui_, "Nothing was measured yet",
                          "Press Optimize: the model is measured as it is and optimized, operation by operation.");
      case JobState::kEmpty:
        return emptyState(ui_, "Nothing was measured yet", "Open a model first: ipex-studio MODEL.pt.");
      default:
        return emptyState(ui_, "No times were recorded", "The log says what happened.");
    }
  }

  void drawTools(bool both, const RunIndex& run) {
    const float top = ImGui::GetCursorPosY();
    ImGui::SetCursorPos({ui_.px(10), top + std::floor(ui_.px(7))});
    ImGui::SetNextItemWidth(ui_.px(240));
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {ui_.px(9), std::floor(ui_.px(4))});
    if (ImGui::InputTextWithHint("##filter", "filter by name, kernel, layout", filter_.data(), filter_.size()))
      stale_ = true;
    ImGui::PopStyleVar();
    for (const bool baseline : {false, true}) {
      if (!both) break;
      ImGui::SameLine(0, ui_.px(baseline ? 2 : 12));
      const char* text = baseline ? "as it is" : "optimized";
      const ButtonLook look = baseline == show_baseline_ ? ButtonLook::kChosen : ButtonLook::kQuiet;
      if (button(ui_, text, text, look, true, ui_.fonts.head)) {
        show_baseline_ = baseline;
        stale_ = true;
      }
    }
    for (int g = 0; g < kKindGroups; ++g) {
      const auto group = static_cast<KindGroup>(g);
      if (std::none_of(run.rows.begin(), run.rows.end(), [&](const OperationRow& row) { return row.group == group; }))
        continue;
      ImGui::SameLine(0, ui_.px(2));
      const std::string text = kindGroupName(group);
      if (ImGui::GetCursorPosX() + buttonSize(ui_, text, ui_.fonts.head).x > ImGui::GetWindowWidth()) break;
      const bool chosen = group_ == g;
      if (button(ui_, text.c_str(), text, chosen ? ButtonLook::kChosen : ButtonLook::kQuiet, true, ui_.fonts.head)) {
        group_ = chosen ? -1 : g;
        stale_ = true;
      }
    }
    ImGui::SetCursorPosY(top + std::floor(ui_.px(38)));
  }

  void collect(const RunIndex& run) {
    const std::string wanted = lowered(filter_.data());
    order_.clear();
    for (std::size_t r = 0; r < run.rows.size(); ++r) {
      const OperationRow& row = run.rows[r];
      if (group_ >= 0 && static_cast<int>(row.group) != group_) continue;
      if (!wanted.empty() &&
          lowered(row.name + " " + row.kind + " " + row.kernel + " " + row.layout).find(wanted) == std::string::npos)
        continue;
      order_.push_back(static_cast<std::int32_t>(r));
    }
    std::stable_sort(order_.begin(), order_.end(), [&](std::int32_t a, std::int32_t b) {
      const int order = compareRows(run.rows[a], run.rows[b], sort_column_);
      return descending_ ? order > 0 : order < 0;
    });
    widest_share_ = 0;
    for (const std::int32_t r : order_) widest_share_ = std::max(widest_share_, run.rows[r].share);
  }

  void setUpColumns() const {
    const ImGuiTableColumnFlags fixed = ImGuiTableColumnFlags_WidthFixed;
    // What can be seen elsewhere gives way to the names on small windows.
    const float points = ImGui::GetWindowWidth() / ui_.scale;
    const ImGuiTableColumnFlags roomy = points < 1400 ? fixed | ImGuiTableColumnFlags_Disabled : fixed;
    const ImGuiTableColumnFlags tight = points < 1000 ? fixed | ImGuiTableColumnFlags_Disabled : fixed;
    const ImGuiTableColumnFlags number = fixed | ImGuiTableColumnFlags_PreferSortDescending;
    ImGui::TableSetupColumn("operation", ImGuiTableColumnFlags_WidthStretch, 2.2F);
    ImGui::TableSetupColumn("kind", tight, ui_.px(96));
    ImGui::TableSetupColumn("kernel", ImGuiTableColumnFlags_WidthStretch, 1.4F);
    ImGui::TableSetupColumn("layout", roomy, ui_.px(128));
    ImGui::TableSetupColumn("output", tight, ui_.px(120));
    ImGui::TableSetupColumn("precision", roomy, ui_.px(66));
    ImGui::TableSetupColumn("ms", number | ImGuiTableColumnFlags_DefaultSort, ui_.px(52));
    ImGui::TableSetupColumn("±", number, ui_.px(48));
    ImGui::TableSetupColumn("share", number, ui_.px(52));
    ImGui::TableSetupColumn("##bar", fixed | ImGuiTableColumnFlags_NoSort, ui_.px(112));
    ImGui::TableSetupColumn("GFLOP/s", number | tight, ui_.px(62));
    ImGui::TableSetupColumn("v as it is", number, ui_.px(66));
    ImGui::TableSetupScrollFreeze(0, 1);
  }

  // ImGui's own header row cannot align to the right.
  void drawHeaders() {
    ImGui::TableNextRow(ImGuiTableRowFlags_Headers, ui_.px(26));
    ImGui::PushFont(ui_.fonts.head);
    for (int c = 0; c < kColumns; ++c) {
      if (!ImGui::TableSetColumnIndex(c)) continue;
      const std::string name = c == kBar ? "" : ImGui::TableGetColumnName(c);
      ImGui::PushID(c);
      const ImVec2 at = ImGui::GetCursorScreenPos();
      const float width = ImGui::GetContentRegionAvail().x;
      const bool clicked = ImGui::InvisibleButton("head", {std::max(width, 1.F), ui_.px(20)}) && c != kBar;
      const bool hovered = ImGui::IsItemHovered() && c != kBar;
      ImGui::PopID();
      const std::string text = name + (c == sort_column_ ? (descending_ ? " ↓" : " ↑") : "");
      const float text_width = ImGui::CalcTextSize(text.data(), text.data() + text.size()).x;
      const float x = c >= kTime ? at.x + width - text_width : at.x;
      ImGui::GetWindowDrawList()->AddText({std::floor(x), at.y + std::floor(ui_.px(3))},
                                          hovered || c == sort_column_ ? ui_.theme.text : ui_.theme.dim, text.data(),
                                          text.data() + text.size());
      if (!clicked) continue;
      descending_ = c == sort_column_ ? !descending_ : c >= kTime;
      sort_column_ = c;
      stale_ = true;
    }
    ImGui::PopFont();
  }

  void drawTable(const RunIndex& run, Selection& selection) {
    const float height = ImGui::GetContentRegionAvail().y - std::floor(ui_.px(28));
    const ImGuiTableFlags flags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_BordersInnerH | ImGuiTableFlags_PadOuterX |
                                  ImGuiTableFlags_NoBordersInBody;
    if (height < ui_.px(40) || !ImGui::BeginTable("operations", kColumns, flags, {0, height})) return;
    setUpColumns();
    drawHeaders();
    if (stale_) collect(run);
    stale_ = false;
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(order_.size()), ui_.px(kRowPoints));
    const bool reveal = reveal_generation_ != selection.revealGeneration();
    reveal_generation_ = selection.revealGeneration();
    if (reveal) scrollTo(run, selection);
    while (clipper.Step()) {
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) drawRow(run.rows[order_[i]], i, selection);
    }
    ImGui::EndTable();
  }

  void scrollTo(const RunIndex& run, const Selection& selection) const {
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (!selection.overlaps(run.rows[order_[i]].origins)) continue;
      const float y = static_cast<float>(i) * ui_.px(kRowPoints);
      const float seen = ImGui::GetWindowHeight() - ui_.px(40);
      if (y < ImGui::GetScrollY() || y > ImGui::GetScrollY() + seen) ImGui::SetScrollY(std::max(0.F, y - seen / 3));
      return;
    }
  }

  void numberCell(int column, ImU32 color, const std::string& text) const {
    if (!ImGui::TableSetColumnIndex(column)) return;
    const float width = ImGui::CalcTextSize(text.data(), text.data() + text.size()).x;
    ImGui::SetCursorPosX(ImGui::GetCursorPosX() + std::max(0.F, std::floor(ImGui::GetContentRegionAvail().x - width)));
    label(color, text);
  }

  void textCell(int column, ImU32 color, const std::string& text, ImFont* font) const {
    if (!ImGui::TableSetColumnIndex(column)) return;
    fittedLabel(ui_, color, text, ImGui::GetContentRegionAvail().x, font);
  }

  void drawRow(const OperationRow& row, int position, Selection& selection) {
    const bool selected = selection.overlaps(row.origins);
    ImGui::TableNextRow(ImGuiTableRowFlags_None, ui_.px(kRowPoints));
    if (selected) {
      ImGui::TableSetBgColor(ImGuiTableBgTarget_RowBg0, ui_.theme.selection);
    } else if (position % 2 == 1) {
      ImGui::TableSetBgColor(ImGuiTableBgTarget_RowBg0, withAlpha(ui_.theme.raised, 0.35F));
    }
    ImGui::TableSetColumnIndex(kName);
    ImGui::PushID(position);
    const ImVec2 at = ImGui::GetCursorPos();
    if (ImGui::Selectable("##row", false, ImGuiSelectableFlags_SpanAllColumns, {0, ui_.px(kRowPoints - 7)})) {
      selection.select(row.origins, true);
    }
    ImGui::PopID();
    ImGui::SetCursorPos(at);
    swatch(ui_, ui_.theme.kind(row.group));
    ImGui::SameLine(0, ui_.px(8));
    fittedLabel(ui_, ui_.theme.text, row.name, ImGui::GetContentRegionAvail().x);
    textCell(kKind, ui_.theme.dim, row.kind, nullptr);
    textCell(kKernel, row.step < 0 ? ui_.theme.warning : ui_.theme.text, row.kernel, ui_.fonts.mono);
    textCell(kLayout, ui_.theme.dim, row.layout, ui_.fonts.mono);
    textCell(kOutput, ui_.theme.dim, row.output, ui_.fonts.mono);
    textCell(kPrecision, ui_.theme.text, row.precision, nullptr);
    numberCell(kTime, ui_.theme.text, fmt::format("{:.3f}", row.time.p50_ns / 1e6));
    numberCell(kSpread, ui_.theme.dim, fmt::format("±{:.3f}", row.time.half_width_ns / 1e6));
    numberCell(kShare, ui_.theme.text, fmt::format("{:.1f} %", row.share * 100));
    if (ImGui::TableSetColumnIndex(kBar)) drawBar(row);
    numberCell(kSpeed, ui_.theme.text, row.gflops_per_s > 0 ? fmt::format("{:.0f}", row.gflops_per_s) : "–");
    const double ratio = row.time.p50_ns > 0 ? row.baseline_ns / row.time.p50_ns : 0;
    const ImU32 tone = ratio >= 1.02 ? ui_.theme.good : ratio > 0 && ratio <= 0.98 ? ui_.theme.bad : ui_.theme.dim;
    numberCell(kBaseline, tone, ratio > 0 ? fmt::format("{:.2f}×", ratio) : "–");
  }

  void drawBar(const OperationRow& row) const {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float room = ImGui::GetContentRegionAvail().x;
    const float width =
        widest_share_ > 0 ? std::max(ui_.px(2), room * static_cast<float>(row.share / widest_share_)) : 0;
    const float y = std::floor(at.y + ui_.px(6));
    ImGui::GetWindowDrawList()->AddRectFilled({at.x, y}, {at.x + width, y + std::floor(ui_.px(7))},
                                              ui_.theme.kind(row.group), ui_.px(2));
  }

  void drawFooter(const StudioSnapshot& snapshot, const RunIndex& run) const {
    const double latency = run.latency.p50_ns;
    std::string text = order_.size() == run.rows.size()
                           ? fmt::format("{} operations", run.rows.size())
                           : fmt::format("{} of {} operations", order_.size(), run.rows.size());
    text += fmt::format(" · {} in operations", formatTime(run.steps_ns, 1));
    if (latency > 0)
      text += fmt::format(" · {} unattributed ({:.1f} %)", formatTime(run.unattributed_ns, 1),
                          run.unattributed_ns / latency * 100);
    text += fmt::format(" · {} runs", run.latency.samples);
    const MachineFacts& machine = snapshot.job->machine;
    if (!machine.cpu.empty()) text += " · " + displayText(machine.cpu, 40) + ", " + displayText(machine.isa, 24);
    if (!machine.libtorch.empty())
      text += " · libtorch " + displayText(machine.libtorch, 16) + ", oneDNN " + displayText(machine.onednn, 16);
    ImGui::SetCursorPos({ui_.px(10), ImGui::GetWindowHeight() - std::floor(ui_.px(24))});
    fittedLabel(ui_, ui_.theme.dim, text, ImGui::GetWindowWidth() - ui_.px(26));
  }

  const Ui& ui_;
  std::shared_ptr<const JobIndex> shown_index_;
  bool shown_baseline_ = false;
  bool show_baseline_ = false;
  bool stale_ = true;
  std::vector<std::int32_t> order_;  // rows of the run, filtered and sorted
  double widest_share_ = 0;
  int sort_column_ = kTime;
  bool descending_ = true;
  int group_ = -1;
  std::array<char, 128> filter_{};
  std::uint64_t reveal_generation_ = 0;
};

}  // namespace

std::unique_ptr<Panel> makeOperationsPanel(const Ui& ui) { return std::make_unique<OperationsPanel>(ui); }

}  // namespace ipex_studio
