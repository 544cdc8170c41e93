// Bottom tab: the recorded runs of a model with their trend, and any of them side by side, operation by operation.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "profiler/text.h"
#include "studio/panels/data_table.h"
#include "studio/panels/panel.h"
#include "studio/panels/run_history_table.h"
#include "studio/panels/table_cells.h"

namespace ipex_studio {
namespace {

constexpr float kHistoryPoints = 860;
constexpr std::array<double, 4> kThresholds = {0, 0.01, 0.05, 0.2};

std::string runText(const RunSummary& run, bool with_model) {
  std::string text = with_model ? displayText(fileName(run.model_path), 40) + " " : "";
  text += fmt::format("{}, {} thread{}", displayText(runName(run.variant, run.precision, run.device), 50), run.threads,
                      run.threads == 1 ? "" : "s");
  if (run.instances > 1) text += fmt::format(" × {}", run.instances);
  return run.id > 0 ? fmt::format("run {}: {}", run.id, text) : text;
}

class ComparePanel : public Panel {
 public:
  explicit ComparePanel(const Ui& ui) : ui_(ui), history_(ui), delta_(ui, {}, 0, true) {}
  const char* name() const override { return "compare"; }
  const char* title() const override { return "Compare"; }
  PanelPlace place() const override { return PanelPlace::kBottomTab; }

  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) override {
    history_.update(snapshot);
    if (shown_set_ != snapshot.comparison) adopt(snapshot.comparison);
    if (history_.empty() && !shown_set_) {
      emptyState(ui_, "Nothing to compare yet",
                 snapshot.history->message.empty()
                     ? "Every run is recorded. When this model has two, any of them stand side by side here."
                     : displayText(snapshot.history->message, 300));
      return;
    }
    act(selection, commands);
    const float width = ImGui::GetWindowWidth();
    const float history = history_.empty() ? 0 : std::min(ui_.px(kHistoryPoints), width * 0.44F);
    const float top = ImGui::GetCursorPosY();
    if (history > 0) {
      if (beginArea(ui_, "history", {history, 0}, ui_.theme.panel, {0, 0}, ImGuiWindowFlags_NoScrollWithMouse))
        history_.draw(commands);
      endArea();
    }
    ImGui::SetCursorPos({history, top});
    if (beginArea(ui_, "delta", {0, 0}, ui_.theme.panel, {0, 0}, ImGuiWindowFlags_NoScrollWithMouse))
      drawComparison(snapshot, selection);
    endArea();
    const ImVec2 corner = ImGui::GetWindowPos();
    if (history > 0)
      ImGui::GetWindowDrawList()->AddLine({corner.x + history, corner.y + top},
                                          {corner.x + history, corner.y + ImGui::GetWindowHeight()}, ui_.theme.line);
  }

 private:
  // Carries out requested actions.
  void act(Selection& selection, Commands& commands) {
    history_.act(selection, commands);
    const bool compares = shown_set_ && shown_set_->runs.size() >= 2;
    if (selection.take("runs.threshold") && compares) {
      threshold_ = (threshold_ + 1) % kThresholds.size();
      sortDelta();
    }
    if (compares && delta_.sortByKey(selection)) sortDelta();
  }

  void adopt(const std::shared_ptr<const RunSet>& set) {
    shown_set_ = set;
    history_.adopt(set.get());
    if (!set) return;
    timed_.clear();
    for (std::size_t r = 0; r < set->runs.size(); ++r) {
      timed_.push_back(
          std::any_of(set->rows.begin(), set->rows.end(), [r](const RunSetRow& row) { return row.steps[r] > 0; }));
    }
    heads_.clear();
    for (std::size_t r = 0; r < set->runs.size(); ++r) heads_.push_back(runLetter(r) + " ms");
    // The names' column keeps its width whatever the number of runs.
    const float runs_points = 76 * static_cast<float>(heads_.size());
    std::vector<TableColumn> columns = {{"operation", 0, false, 0, 2}, {"kind", 96, false, 650 + runs_points}};
    for (std::size_t r = 0; r < heads_.size(); ++r) {
      const bool end = r == 0 || r + 1 == heads_.size();
      columns.push_back({heads_[r].c_str(), 70, true, end ? 0 : 400 + runs_points});
    }
    columns.push_back({"Δ ms", 76, true, 0, 1, "The last run less the first: below zero it became faster."});
    columns.push_back({"ratio", 66, true, 0, 1, "The first run over the last: above 1 it became faster."});
    columns.push_back({"", heads_.size() > 2 ? 80.F : 120.F, false, 480 + runs_points});
    delta_ = DataTable(ui_, std::move(columns), 2 + static_cast<int>(heads_.size()), true);
    sortDelta();
  }

  static double delta_ns(const RunSetRow& row) { return static_cast<double>(row.p50_ns.back() - row.p50_ns.front()); }
  // True if the first and last runs were timed operation by operation, so that operations can be compared.
  bool comparable() const { return timed_.size() >= 2 && timed_.front() && timed_.back(); }

  static double ratio(const RunSetRow& row) {
    return row.p50_ns.front() > 0 && row.p50_ns.back() > 0
               ? static_cast<double>(row.p50_ns.front()) / static_cast<double>(row.p50_ns.back())
               : 0;
  }

  void sortDelta() {
    order_.clear();
    widest_ns_ = 0;
    const double threshold_ns = kThresholds[threshold_] * static_cast<double>(shown_set_->runs.front().p50_ns);
    for (std::size_t r = 0; r < shown_set_->rows.size(); ++r) {
      const double change = std::abs(delta_ns(shown_set_->rows[r]));
      widest_ns_ = std::max(widest_ns_, change);
      if (change >= threshold_ns) order_.push_back(r);
    }
    const auto runs = static_cast<int>(shown_set_->runs.size());
    const int column = delta_.sortColumn();
    const auto key = [&](const RunSetRow& row) {
      if (column >= 2 && column < 2 + runs)
        return static_cast<double>(row.p50_ns[static_cast<std::size_t>(column - 2)]);
      return column == 3 + runs ? ratio(row) : std::abs(delta_ns(row));
    };
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      const RunSetRow& x = shown_set_->rows[delta_.descending() ? b : a];
      const RunSetRow& y = shown_set_->rows[delta_.descending() ? a : b];
      if (column < 2) return column == 0 ? x.name < y.name : x.kind < y.kind;
      return key(x) < key(y);
    });
  }

  void drawComparison(const StudioSnapshot& snapshot, Selection& selection) {
    if (!shown_set_ || shown_set_->runs.size() < 2) {
      emptyState(
          ui_, history_.anyChosen() ? "Choose one more" : "Choose runs to compare",
          "Click two or more runs at the left: the first is what the others are measured against. A double click "
          "shows a run in the whole window.");
      return;
    }
    const RunSet& set = *shown_set_;
    drawVerdict(set);
    for (std::size_t t = 0; t < kThresholds.size(); ++t) {
      if (t > 0) ImGui::SameLine(0, ui_.px(2));
      const std::string text = t == 0 ? "all" : fmt::format("≥ {:.0f} % of the run", kThresholds[t] * 100);
      ImGui::SetCursorPosX(ImGui::GetCursorPosX() + (t == 0 ? ui_.px(10) : 0));
      if (!button(ui_, text.c_str(), text, t == threshold_ ? ButtonLook::kChosen : ButtonLook::kQuiet, ui_.fonts.text))
        continue;
      threshold_ = t;
      sortDelta();
    }
    ImGui::SameLine(0, ui_.px(14));
    ImGui::SetCursorPosY(ImGui::GetCursorPosY() + ui_.px(6));
    fittedLabel(ui_, ui_.theme.dim,
                fmt::format("{} of {} rows, matched by the nodes they stem from", order_.size(), set.rows.size()),
                ImGui::GetContentRegionAvail().x - ui_.px(8));
    const int by_key = rowByKey(selection, row_by_key_, static_cast<int>(order_.size()));
    const bool same_model = set.same_model && set.runs.back().sha256 == snapshot.job->model.sha256;
    if (by_key >= 0) {
      row_by_key_ = by_key;
      delta_.scrollTo(by_key);
      if (same_model) selection.select(set.rows[order_[static_cast<std::size_t>(by_key)]].origins, true);
    }
    const bool resort = delta_.draw("delta", ImGui::GetContentRegionAvail().y, static_cast<int>(order_.size()),
                                    [&](int i) { drawRow(set, i, same_model, selection); });
    if (resort) sortDelta();
  }

  // Draws the verdict on the whole: "A … → B …: 1.92× faster, 95 % 1.89–1.95".
  void drawVerdict(const RunSet& set) const {
    ImGui::SetCursorPos({ui_.px(12), ui_.px(9)});
    const Interval& ratio = set.ratio.back();
    const bool certain = ratio.low > 1 || ratio.high < 1;
    // "3× slower" has the interval of that number.
    const bool slower = certain && ratio.value < 1;
    const auto turned = [slower](double value) { return slower ? 1 / std::max(value, 1e-9) : value; };
    const std::string verdict =
        !certain ? "no difference" : ratioText(turned(ratio.value)) + (slower ? " slower" : " faster");
    const NoiseVerdict& noise = worseNoise(set.runs.front().noise, set.runs.back().noise);
    label(noise.disturbed()  ? ui_.theme.warning
          : !certain         ? ui_.theme.text
          : ratio.value >= 1 ? ui_.theme.good
                             : ui_.theme.bad,
          verdict, ui_.fonts.strong);
    ImGui::SameLine(0, ui_.px(10));
    ImGui::SetCursorPosY(ui_.px(11));
    if (noise.level != NoiseLevel::kUnknown) {
      label(noise.disturbed() ? ui_.theme.bad : ui_.theme.good, noiseName(noise.level));
      if (ImGui::IsItemHovered()) tooltip(noiseSentence(noise) + ".");
      ImGui::SameLine(0, ui_.px(10));
      ImGui::SetCursorPosY(ui_.px(11));
    }
    std::string text = fmt::format("95 % {}–{}", ratioText(turned(slower ? ratio.high : ratio.low)),
                                   ratioText(turned(slower ? ratio.low : ratio.high)));
    // Only the first and the last run are named, which the verdict compares.
    for (std::size_t r = 0; r < set.runs.size(); r += std::max<std::size_t>(1, set.runs.size() - 1))
      text += fmt::format(" · {} {}, {}", runLetter(r), runText(set.runs[r], !set.same_model),
                          formatTime(static_cast<double>(set.runs[r].p50_ns)));
    for (std::size_t r = 0; r < set.runs.size(); ++r) {
      if (!timed_[r]) text += fmt::format(" · {} has no times of operations", runLetter(r));
    }
    if (!set.same_model) text += " · not the same model";
    if (!set.same_machine) text += " · not the same machine or libraries";
    fittedLabel(ui_, ui_.theme.dim, text, ImGui::GetContentRegionAvail().x - ui_.px(10));
    ImGui::SetCursorPosY(ui_.px(34));
  }

  void drawRow(const RunSet& set, int position, bool same_model, Selection& selection) {
    const RunSetRow& row = set.rows[order_[static_cast<std::size_t>(position)]];
    const bool selected = (same_model && selection.overlaps(row.origins)) || position == row_by_key_;
    const KindGroup group = kindGroup(row.kind);
    if (delta_.beginRow(position, selected, displayText(row.name), ui_.theme.text, ui_.theme.kind(group)) && same_model)
      selection.select(row.origins, true);
    const std::size_t colon = row.kind.rfind("::");
    delta_.text(1, ui_.theme.dim, displayText(colon == std::string::npos ? row.kind : row.kind.substr(colon + 2), 40));
    int column = 2;
    for (std::size_t r = 0; r < set.runs.size(); ++r) {
      const bool there = row.steps[r] > 0;
      delta_.number(column++, there ? ui_.theme.text : ui_.theme.dim,
                    there ? fmt::format("{:.3f}", static_cast<double>(row.p50_ns[r]) / 1e6) : "–");
    }
    const double change = delta_ns(row);
    const bool faster = change < 0;
    const ImU32 tone = !comparable() || std::abs(change) < 500 ? ui_.theme.dim
                       : faster                                ? ui_.theme.good
                                                               : ui_.theme.bad;
    delta_.number(column++, tone,
                  comparable() ? fmt::format("{}{:.3f}", faster ? "−" : "+", std::abs(change) / 1e6) : "–");
    delta_.number(column++, tone, ratio(row) > 0 ? fmt::format("{:.2f}×", ratio(row)) : "–");
    if (!delta_.cell(column) || widest_ns_ <= 0 || !comparable()) return;
    // Bars begin in the middle and go to the left for faster, to the right for slower.
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float middle = std::floor(at.x + ImGui::GetContentRegionAvail().x / 2);
    const float width = ImGui::GetContentRegionAvail().x / 2 * static_cast<float>(change / widest_ns_);
    const float y = std::floor(at.y + ui_.px(6));
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddRectFilled({std::min(middle, middle + width), y},
                        {std::max(middle + 1, middle + width), y + std::floor(ui_.px(7))},
                        faster ? ui_.theme.good : ui_.theme.bad);
  }

  const Ui& ui_;
  RunHistoryTable history_;
  DataTable delta_;
  std::shared_ptr<const RunSet> shown_set_;
  std::vector<bool> timed_;         // for each run of shown_set_: true if it has times of operations
  std::vector<std::string> heads_;  // names of the runs' columns
  std::vector<std::size_t> order_;  // indexes of the shown rows of shown_set_, in order
  std::size_t threshold_ = 0;
  double widest_ns_ = 0;
  int row_by_key_ = -1;
};

void fillCompare(const StudioSnapshot& snapshot, PanelTable* table) {
  if (!snapshot.comparison) {
    table->columns = {"job",    "run",       "when",    "model",     "variant",
                      "device", "precision", "threads", "instances", "p50_ms"};
    for (const JobSummary& job : snapshot.history->jobs) {
      for (const RunSummary& run : job.runs) {
        table->rows.push_back({whole(job.id), whole(run.id), dateText(run.started_unix_ns), run.model_path, run.variant,
                               run.device, run.precision, whole(run.threads), whole(run.instances),
                               ms(whole(run.p50_ns))});
      }
    }
    return;
  }
  const RunSet& set = *snapshot.comparison;
  table->columns = {"operation", "kind"};
  for (std::size_t r = 0; r < set.runs.size(); ++r)
    table->columns.push_back(fmt::format("{}_{}_ms", static_cast<char>('a' + r % 26), set.runs[r].id));
  for (std::size_t r = 0; r < set.runs.size(); ++r)
    table->columns.push_back(fmt::format("{}_{}_kernels", static_cast<char>('a' + r % 26), set.runs[r].id));
  table->columns.insert(table->columns.end(), {"delta_ms", "ratio"});
  for (const RunSetRow& row : set.rows) {
    std::vector<TableCell> cells = {row.name, row.kind};
    for (std::size_t r = 0; r < set.runs.size(); ++r)
      cells.push_back(row.steps[r] > 0 ? ms(whole(row.p50_ns[r])) : kNotMeasured);
    cells.insert(cells.end(), row.kernels.begin(), row.kernels.end());
    const double first = whole(row.p50_ns.front()), last = whole(row.p50_ns.back());
    cells.push_back(ms(last - first));
    cells.push_back(first > 0 && last > 0 ? first / last : kNotMeasured);
    table->rows.push_back(std::move(cells));
  }
}

std::vector<ActionGroup> compareActions() {
  return {{720,
           {{"runs.next", "Compare: mark the next recorded run", "J"},
            {"runs.previous", "Compare: mark the run before", "Shift+J"},
            {"runs.choose", "Compare: choose the marked run, or no longer", "M"},
            {"runs.show", "Compare: open the marked run", "Shift+M"},
            {"runs.threshold", "Compare: only rows that changed more", "H"}}}};
}

}  // namespace

extern const PanelEntry kComparePanel;
const PanelEntry kComparePanel{
    "compare",   [](const Ui& ui) -> std::unique_ptr<Panel> { return std::make_unique<ComparePanel>(ui); },
    fillCompare, "Compare recorded runs",
    "8",         compareActions()};

}  // namespace ipex_studio
