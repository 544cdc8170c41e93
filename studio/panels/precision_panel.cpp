// Bottom tab: every operation in each precision, its error and why it is not lower; decisions against that, what they
// would give, and all assignments that were tried as latency against accuracy.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "studio/panels/data_table.h"
#include "studio/panels/panel.h"
#include "studio/panels/pareto_plot.h"
#include "studio/panels/table_cells.h"
#include "studio/snapshot/snapshot_precision.h"

namespace ipex_studio {
namespace {

constexpr float kTriedPoints = 400;
constexpr float kMinSidePoints = 300;
constexpr float kWordsPoints = 126, kWordPoints = 38;  // widths of all words at a row's right, and of one more

enum class Scope { kOperation, kModule, kKind };
constexpr std::array<std::pair<const char*, Scope>, 3> kScopes = {
    {{"this operation", Scope::kOperation}, {"its module", Scope::kModule}, {"all of its kind", Scope::kKind}}};

enum Column { kName, kKind, kNow, kFp32, kBf16, kFp16, kInt8, kAlone, kTogether, kCosine, kMax, kWhy, kSet };

std::string decibelsOr(double db) {
  if (std::isnan(db)) return "–";
  return db >= kSqnrOfEqual ? "equal" : fmt::format("{:.0f}", db);
}

// The module around a module: "layer1.0" for "layer1.0.conv3".
std::string parentOf(const std::string& module) {
  const std::size_t dot = module.rfind('.');
  return dot == std::string::npos ? module : module.substr(0, dot);
}

class PrecisionPanel : public Panel {
 public:
  explicit PrecisionPanel(const Ui& ui)
      : ui_(ui),
        table_(
            ui,
            {{"operation", 0, false, 0, 2.6F},
             {"kind", 92, false, 1200},
             {"now", 50},
             {"FP32 ms", 66, true, 0, 1, "In the newest run of this model in FP32."},
             {"BF16 ms", 66, true, 0, 1, "In the newest run of this model in BF16."},
             {"FP16 ms", 66, true, 0, 1, "In the newest run of this model in FP16."},
             {"INT8 ms", 66, true, 0, 1, "In the newest run of this model in INT8."},
             {"alone dB", 68, true, 720, 1,
              "SQNR of the model's results with this operation alone in lower precision: more is better."},
             {"together dB", 84, true, 1100, 1, "SQNR with this and all less sensitive operations in lower precision."},
             {"cosine", 66, true, 1250, 1,
              "Of this operation's result and that of the same operation in FP32: 1 is the same direction."},
             {"max |Δ|", 66, true, 1250, 1, "Largest difference of this operation's result from that in FP32."},
             {"why not lower", 0, false, 800, 1.3F},
             {"", kWordsPoints}},
            kFp32, true),
        plot_(ui) {}
  const char* name() const override { return "precision"; }
  const char* title() const override { return "Precision"; }
  PanelPlace place() const override { return PanelPlace::kBottomTab; }

  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) override {
    if (shown_index_ != snapshot.index || shown_precisions_ != snapshot.precisions) {
      shown_index_ = snapshot.index;
      shown_precisions_ = snapshot.precisions;
      rows_ = precisionRows(snapshot);
      sortRows();
    }
    for (std::size_t p = 0; p < kShownPrecisions.size(); ++p) shown_[p] = isShown(snapshot, rows_, p);
    const bool fp16 = shown_[kFp16 - kFp32];
    table_.show(kFp16, fp16);
    table_.setPoints(kSet, fp16 ? kWordsPoints + kWordPoints : kWordsPoints);
    act(snapshot, selection, commands);
    if (table_.sortByKey(selection)) sortRows();
    if (rows_.empty()) {
      emptyState(ui_, "No precisions yet",
                 pressOptimize(snapshot) +
                     ", then choose BF16 or INT8 above and optimize again: times and errors stand side by side.");
      return;
    }
    const float width = ImGui::GetWindowWidth();
    const bool with_side = width > ui_.px(kMinSidePoints + 620);
    const float side = std::clamp(std::floor(width * 0.32F), ui_.px(kMinSidePoints), ui_.px(kTriedPoints));
    const float table_width = with_side ? width - side : width;
    const float top = ImGui::GetCursorPosY();
    if (beginArea(ui_, "operations", {table_width, 0}, ui_.theme.panel, {0, 0}, ImGuiWindowFlags_NoScrollWithMouse)) {
      drawTools(snapshot, commands);
      drawTable(snapshot, selection, commands);
    }
    endArea();
    if (!with_side) return;
    ImGui::SetCursorPos({table_width, top});
    if (beginArea(ui_, "side", {0, 0}, ui_.theme.panel, {0, 0}, ImGuiWindowFlags_NoScrollWithMouse)) {
      drawWhatIf(snapshot);
      plot_.draw(snapshot, selection, commands);
    }
    endArea();
    const ImVec2 corner = ImGui::GetWindowPos();
    ImGui::GetWindowDrawList()->AddLine({corner.x + table_width, corner.y + top},
                                        {corner.x + table_width, corner.y + ImGui::GetWindowHeight()}, ui_.theme.line);
  }

 private:
  void act(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) {
    if (selection.take("scope.operation")) scope_ = Scope::kOperation;
    if (selection.take("scope.module")) scope_ = Scope::kModule;
    if (selection.take("scope.kind")) scope_ = Scope::kKind;
    if (!snapshot.overrides.possible) return;
    if (selection.take("override.undo")) commands.post(StepOverridesCommand{false});
    if (selection.take("override.redo")) commands.post(StepOverridesCommand{true});
    if (selection.take("override.try")) commands.post(OverrideCommand{snapshot.overrides.now, true});
    for (const char* precision : kShownPrecisions) {
      if (!selection.take(std::string("override.") + precision)) continue;
      const auto row = std::find_if(rows_.begin(), rows_.end(),
                                    [&](const PrecisionRow& r) { return selection.overlaps(r.origins); });
      if (row != rows_.end()) set(snapshot, *row, precision, commands);
    }
  }

  std::string target(const PrecisionRow& row) const {
    if (scope_ == Scope::kKind || row.module.empty()) return "kind:" + row.kind;
    return scope_ == Scope::kModule ? parentOf(row.module) : row.module;
  }

  void set(const StudioSnapshot& snapshot, const PrecisionRow& row, const char* precision, Commands& commands) const {
    commands.post(OverrideCommand{snapshot.overrides.now.with(PrecisionOverride{target(row), precision}), false});
  }

  void sortRows() {
    const int column = table_.sortColumn();
    const auto number = [column](const PrecisionRow& row) {
      const double value = column == kAlone      ? row.alone_db
                           : column == kTogether ? row.together_db
                           : column == kCosine   ? row.cosine
                           : column == kMax
                               ? row.max_abs
                               : row.time_ns[static_cast<std::size_t>(std::clamp(column - kFp32, 0, kInt8 - kFp32))];
      return std::isnan(value) ? -1 : value;
    };
    const auto text = [column](const PrecisionRow& row) -> const std::string& {
      return column == kName ? row.name : column == kKind ? row.kind : column == kNow ? row.now : row.why;
    };
    const bool by_number = column >= kFp32 && column <= kMax;
    std::stable_sort(rows_.begin(), rows_.end(), [&](const PrecisionRow& a, const PrecisionRow& b) {
      const PrecisionRow& x = table_.descending() ? b : a;
      const PrecisionRow& y = table_.descending() ? a : b;
      return by_number ? number(x) < number(y) : text(x) < text(y);
    });
  }

  void drawTools(const StudioSnapshot& snapshot, Commands& commands) {
    ImGui::SetCursorPos({ui_.px(12), ui_.px(7)});
    const float text_y = ui_.px(11);
    ImGui::SetCursorPosY(text_y);
    label(ui_.theme.dim, "A decision is for");
    for (const auto& [text, scope] : kScopes) {
      ImGui::SameLine(0, ui_.px(scope == Scope::kOperation ? 8 : 2));
      ImGui::SetCursorPosY(ui_.px(7));
      if (button(ui_, text, text, scope == scope_ ? ButtonLook::kChosen : ButtonLook::kQuiet, ui_.fonts.head))
        scope_ = scope;
    }
    const OverrideState& state = snapshot.overrides;
    const std::size_t count = state.now.precisions.size() + state.now.pins.size();
    const std::string why = whyNotDecide(snapshot);
    const auto tool = [&](const char* text, const std::string& why_not, ButtonLook look, float gap) {
      ImGui::SameLine(0, ui_.px(gap));
      ImGui::SetCursorPosY(ui_.px(7));
      return button(ui_, text, text, look, why.empty() ? why_not : why, ui_.fonts.head);
    };
    if (tool("undo", state.can_undo ? "" : "No decision was made that could be taken back.", ButtonLook::kQuiet, 16))
      commands.post(StepOverridesCommand{false});
    if (tool("redo", state.can_redo ? "" : "No decision was taken back.", ButtonLook::kQuiet, 2))
      commands.post(StepOverridesCommand{true});
    if (tool("Try it", count > 0 ? "" : "Choose another precision at the right of a row first.",
             count > 0 ? ButtonLook::kPrimary : ButtonLook::kPlain, 10))
      commands.post(OverrideCommand{state.now, true});
    ImGui::SameLine(0, ui_.px(12));
    ImGui::SetCursorPosY(text_y);
    fittedLabel(ui_, ui_.theme.dim,
                count > 0        ? fmt::format("{} decision{}", count, count == 1 ? "" : "s")
                : state.possible ? "Choose another precision at the right of a row."
                                 : "Open the model itself to decide otherwise.",
                ImGui::GetContentRegionAvail().x - ui_.px(8));
    ImGui::SetCursorPosY(ui_.px(38));
  }

  void drawTable(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) {
    int current = -1;
    for (std::size_t r = 0; r < rows_.size() && !selection.empty() && current < 0; ++r) {
      if (selection.overlaps(rows_[r].origins)) current = static_cast<int>(r);
    }
    if (reveal_generation_ != selection.revealGeneration() && current >= 0) table_.scrollTo(current);
    reveal_generation_ = selection.revealGeneration();
    const int moved = rowByKey(selection, current, static_cast<int>(rows_.size()));
    if (moved >= 0) {
      selection.select(rows_[static_cast<std::size_t>(moved)].origins, true);
      table_.scrollTo(moved);
    }
    const bool resort = table_.draw("precisions", ImGui::GetContentRegionAvail().y, static_cast<int>(rows_.size()),
                                    [&](int i) { drawRow(snapshot, i, selection, commands); });
    if (resort) sortRows();
  }

  const PrecisionOverride* overrideOf(const StudioSnapshot& snapshot, const PrecisionRow& row) const {
    const PrecisionOverride* found = nullptr;
    for (const PrecisionOverride& override : snapshot.overrides.now.precisions) {
      const std::string& what = override.what;
      const bool module = row.module == what || row.module.compare(0, what.size() + 1, what + ".") == 0;
      const bool exactly = std::find(row.keys.begin(), row.keys.end(), what) != row.keys.end();
      if (module || exactly || what == "*" || what == "kind:" + row.kind) found = &override;
    }
    return found;
  }

  void drawRow(const StudioSnapshot& snapshot, int position, Selection& selection, Commands& commands) {
    const PrecisionRow& row = rows_[static_cast<std::size_t>(position)];
    const Theme& theme = ui_.theme;
    const bool selected = selection.overlaps(row.origins);
    if (table_.beginRow(position, selected, row.name, theme.text, theme.kind(row.group)))
      selection.select(row.origins, true);
    table_.text(kKind, theme.dim, row.kind);
    table_.text(kNow, theme.text, row.now);
    const double* fastest = nullptr;
    for (const double& ns : row.time_ns) {
      if (ns > 0 && (fastest == nullptr || ns < *fastest)) fastest = &ns;
    }
    const auto measured = std::count_if(row.time_ns.begin(), row.time_ns.end(), [](double ns) { return ns > 0; });
    for (int p = 0; p <= kInt8 - kFp32; ++p) {
      const double& ns = row.time_ns[static_cast<std::size_t>(p)];
      table_.number(kFp32 + p,
                    ns <= 0                          ? theme.dim
                    : &ns == fastest && measured > 1 ? theme.good
                                                     : theme.text,
                    ns > 0 ? fmt::format("{:.3f}", ns / 1e6) : "–");
    }
    table_.number(kAlone, row.alone_db < 20 ? theme.warning : theme.text, decibelsOr(row.alone_db));
    table_.number(kTogether, theme.text, decibelsOr(row.together_db));
    table_.number(kCosine, theme.text, std::isnan(row.cosine) ? "–" : fmt::format("{:.5f}", row.cosine));
    table_.number(kMax, theme.text, std::isnan(row.max_abs) ? "–" : fmt::format("{:.1e}", row.max_abs));
    table_.text(kWhy, theme.dim, row.why);
    if (table_.cell(kSet)) drawChoices(snapshot, row, position, selected, commands);
  }

  // Draws the precisions as words: the decided one in accent with a mark, the others to click. Tab leads to those of a
  // selected row, which arrow keys select.
  void drawChoices(const StudioSnapshot& snapshot, const PrecisionRow& row, int position, bool stop,
                   Commands& commands) const {
    const PrecisionOverride* decided = overrideOf(snapshot, row);
    const std::string why = whyNotDecide(snapshot);
    ImGui::PushID(position);
    for (std::size_t p = 0; p < kShownPrecisions.size(); ++p) {
      if (!shown_[p]) continue;
      const std::string precision = kShownPrecisions[p];
      const bool chosen = decided != nullptr && decided->precision == precision;
      const bool offered = chosen || (snapshot.overrides.possible && isOffered(snapshot, precision, true));
      if (p > 0) ImGui::SameLine(0, ui_.px(9));
      const std::string word = chosen ? "[" + precision + "]" : precision;
      const ImVec2 at = ImGui::GetCursorScreenPos(), size = ImGui::CalcTextSize(word.c_str());
      const bool pressed = invisibleButton(ui_, kShownPrecisions[p], size, stop);
      const ImU32 color = chosen ? ui_.theme.accent : offered ? ui_.theme.dim : withAlpha(ui_.theme.dim, 0.5F);
      ImGui::GetWindowDrawList()->AddText(at, color, word.c_str());
      if (ImGui::IsItemHovered() && offered) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
      if (ImGui::IsItemHovered() && !offered) tooltip(why.empty() ? "This machine or model has none of it." : why);
      if (pressed && offered) set(snapshot, row, kShownPrecisions[p], commands);
    }
    ImGui::PopID();
  }

  void drawWhatIf(const StudioSnapshot& snapshot) const {
    ImGui::SetCursorPos({ui_.px(14), ui_.px(11)});
    if (snapshot.tries->empty()) {
      label(ui_.theme.dim, "What if: nothing was tried yet");
      ImGui::SetCursorPosY(ui_.px(38));
      return;
    }
    const WhatIf& last = snapshot.tries->back();
    const bool none = last.noDifference();
    const std::string verdict =
        none ? "no difference"
             : fmt::format("{}{}", last.delta_ns < 0 ? "−" : "+", formatTime(std::abs(last.delta_ns)));
    label(none ? ui_.theme.text : last.delta_ns < 0 ? ui_.theme.good : ui_.theme.bad, verdict, ui_.fonts.strong);
    ImGui::SameLine(0, ui_.px(8));
    ImGui::SetCursorPosY(ui_.px(13));
    if (last.noise.disturbed()) {
      label(ui_.theme.bad, noiseName(last.noise.level));
      if (ImGui::IsItemHovered()) tooltip(noiseSentence(last.noise) + ".");
      ImGui::SameLine(0, ui_.px(8));
      ImGui::SetCursorPosY(ui_.px(13));
    }
    const double unit = std::abs(last.delta_ns) < 1e5 && last.after_ns < 1e7 ? 1e3 : 1e6;
    const auto with_sign = [unit](double ns) {
      return fmt::format("{}{:.2f}", ns < 0 ? "−" : "+", std::abs(ns) / unit);
    };
    fittedLabel(ui_, ui_.theme.dim,
                fmt::format("95 % {} to {} {}", with_sign(last.delta_low_ns), with_sign(last.delta_high_ns),
                            unit == 1e3 ? "µs" : "ms"),
                ImGui::GetContentRegionAvail().x - ui_.px(10));
    ImGui::SetCursorPos({ui_.px(14), ui_.px(32)});
    label(last.accurate ? ui_.theme.dim : ui_.theme.bad,
          fmt::format("SQNR {} → {} dB{}", decibelsOr(last.before_db), decibelsOr(last.after_db),
                      last.accurate ? "" : ", not accurate enough"));
  }

  const Ui& ui_;
  DataTable table_;
  std::shared_ptr<const JobIndex> shown_index_;
  std::shared_ptr<const RunSet> shown_precisions_;
  std::vector<PrecisionRow> rows_;
  std::array<bool, kShownPrecisions.size()> shown_{};  // for each of kShownPrecisions: true if it has a column
  Scope scope_ = Scope::kOperation;
  ParetoPlot plot_;
  std::uint64_t reveal_generation_ = 0;
};

// Table of a search's assignments, then of trials by hand.
PanelTable triedTable(const StudioSnapshot& snapshot) {
  constexpr std::size_t kMaxDecisions = 1000;
  PanelTable table;
  table.panel = "tried";
  table.columns = {"name",    "time_ms",  "delta_ms",        "delta_low_95_ms", "delta_high_95_ms",
                   "sqnr_db", "metric",   "int8_operations", "bf16_operations", "fp32_operations",
                   "allowed", "on_front", "chosen",          "decisions"};
  const auto yes = [](bool value) { return std::string(value ? "yes" : "no"); };
  const auto& tradeoffs = snapshot.job->tradeoffs;
  for (std::size_t t = 0; t < tradeoffs.size(); ++t) {
    const TradeoffRecord& tried = tradeoffs[t];
    const auto decisions = overridesOf(snapshot, t);
    table.rows.push_back({tried.name, ms(whole(tried.elapsed_ns)), kNotMeasured, kNotMeasured, kNotMeasured,
                          tried.sqnr_db, tried.metric, whole(tried.int8_nodes), whole(tried.bf16_nodes),
                          whole(tried.fp32_nodes), yes(tried.allowed), yes(tried.on_front), yes(tried.chosen),
                          decisions ? decisionsText(*decisions, kMaxDecisions) : std::string()});
  }
  for (std::size_t t = 0; t < snapshot.tries->size(); ++t) {
    const WhatIf& tried = (*snapshot.tries)[t];
    table.rows.push_back({fmt::format("try {}", t + 1), ms(tried.after_ns), ms(tried.delta_ns), ms(tried.delta_low_ns),
                          ms(tried.delta_high_ns), tried.after_db, kNotMeasured, kNotMeasured, kNotMeasured,
                          kNotMeasured, yes(tried.accurate), std::string(), std::string(),
                          decisionsText(tried.tried, kMaxDecisions)});
  }
  return table;
}

void fillPrecision(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"operation", "kind",     "module",      "now",    "fp32_ms", "bf16_ms",      "fp16_ms",
                    "int8_ms",   "alone_db", "together_db", "cosine", "max_abs", "why_not_lower"};
  for (const PrecisionRow& row : precisionRows(snapshot)) {
    table->rows.push_back({row.name, row.kind, row.module, row.now, orUnknown(ms(row.time_ns[0])),
                           orUnknown(ms(row.time_ns[1])), orUnknown(ms(row.time_ns[2])), orUnknown(ms(row.time_ns[3])),
                           row.alone_db, row.together_db, row.cosine, row.max_abs, row.why});
  }
  table->more.push_back(triedTable(snapshot));
}

std::vector<ActionGroup> precisionActions() {
  return {{740,
           {{"override.fp32", "Keep the selected operation in FP32", ""},
            {"override.bf16", "Compute the selected operation in BF16", ""},
            {"override.fp16", "Compute the selected operation in FP16", ""},
            {"override.int8", "Compute the selected operation in INT8", ""},
            {"scope.operation", "Decisions are for the selected operation", ""},
            {"scope.module", "Decisions are for its module", ""},
            {"scope.kind", "Decisions are for all of its kind", ""},
            {"point.next", "Precision plot: mark the next point", "D"},
            {"point.load", "Precision plot: load the point", "Shift+D"},
            {"override.try", "Measure what the decisions give", "Ctrl+T"},
            {"override.undo", "Take the last decision back", "Ctrl+Z"},
            {"override.redo", "Make it again", "Ctrl+Shift+Z"}}}};
}

}  // namespace

extern const PanelEntry kPrecisionPanel;
const PanelEntry kPrecisionPanel{
    "precision",   [](const Ui& ui) -> std::unique_ptr<Panel> { return std::make_unique<PrecisionPanel>(ui); },
    fillPrecision, "Precision of each operation",
    "9",           precisionActions()};

}  // namespace ipex_studio
