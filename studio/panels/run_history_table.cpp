// See run_history_table.h.
#include "studio/panels/run_history_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "profiler/text.h"
#include "studio/panels/chart.h"

namespace ipex_studio {
namespace {

constexpr float kTrendPoints = 76;
constexpr std::size_t kMaxRuns = 6;  // most runs side by side

std::string machineText(const RunSummary& run) {
  const std::string device = run.device == "cpu" || run.device.empty() ? "" : displayText(run.device, 12) + ", ";
  return device + displayText(run.cpu, 40) + ", " + displayText(run.isa, 24);
}

}  // namespace

std::string runLetter(std::size_t place) { return std::string(1, static_cast<char>('A' + place)); }

RunHistoryTable::RunHistoryTable(const Ui& ui)
    : ui_(ui),
      table_(ui,
             {{"", 16},
              {"run", 40, true},
              {"when", 136, false, 520},
              {"variant", 0, false, 0, 1.4F},
              {"precision", 62},
              {"threads", 52, true, 520},
              {"machine", 0, false, 800, 1.4F, "Processor, instructions and device."},
              {"ms", 62, true, 0, 1, "Median latency."},
              {"speed-up", 64, true, 0, 1, "Over the baseline, measured in the same job."}},
             1, true) {}

void RunHistoryTable::update(const StudioSnapshot& snapshot) {
  if (shown_history_ == snapshot.history && shown_index_ == snapshot.index && shown_set_ == snapshot.comparison) return;
  shown_history_ = snapshot.history;
  shown_index_ = snapshot.index;
  shown_set_ = snapshot.comparison;
  rows_.clear();
  const auto compared = [&](const RunSummary& run) {
    return shown_set_ && std::any_of(shown_set_->runs.begin(), shown_set_->runs.end(),
                                     [&](const RunSummary& other) { return other.id == run.id; });
  };
  sha256_ = snapshot.job->model.sha256;
  for (const JobSummary& job : shown_history_->jobs) {
    const bool disturbed = noiseOf(job).disturbed();
    for (const RunSummary& run : job.runs) {
      if (!sha256_.empty() && job.sha256 != sha256_ && !compared(run)) continue;
      const bool both = run.variant != "baseline" && job.baseline_p50_ns > 0 && run.p50_ns > 0;
      rows_.push_back(
          {&run, both ? static_cast<double>(job.baseline_p50_ns) / static_cast<double>(run.p50_ns) : 0, disturbed});
    }
  }
  sort();
}

void RunHistoryTable::sort() {
  const int column = table_.sortColumn();
  const auto less = [column](const Row& a, const Row& b) {
    switch (column) {
      case 3:
        return a.run->variant < b.run->variant;
      case 4:
        return a.run->precision < b.run->precision;
      case 5:
        return a.run->threads < b.run->threads;
      case 6:
        return machineText(*a.run) < machineText(*b.run);
      case 7:
        return a.run->p50_ns < b.run->p50_ns;
      case 8:
        return a.speedup < b.speedup;
      default:
        return std::make_pair(a.run->started_unix_ns, a.run->id) < std::make_pair(b.run->started_unix_ns, b.run->id);
    }
  };
  std::stable_sort(rows_.begin(), rows_.end(),
                   [&](const Row& a, const Row& b) { return table_.descending() ? less(b, a) : less(a, b); });
}

// Draws the median latency of the optimized runs over time: one dot each, compared ones with their letter.
void RunHistoryTable::drawTrend() const {
  const ImVec2 window = ImGui::GetWindowPos();
  const float left = window.x + ui_.px(66);
  const float right = window.x + ImGui::GetWindowWidth() - ui_.px(24);
  const float top = window.y + ui_.px(14);
  const float bottom = window.y + ui_.px(kTrendPoints - 10);
  std::vector<const RunSummary*> runs;
  for (const Row& row : rows_) {
    const bool of_model = sha256_.empty() || row.run->sha256 == sha256_;
    if (of_model && row.run->variant != "baseline" && row.run->p50_ns > 0) runs.push_back(row.run);
  }
  std::sort(runs.begin(), runs.end(), [](const RunSummary* a, const RunSummary* b) {
    return std::make_pair(a->started_unix_ns, a->id) < std::make_pair(b->started_unix_ns, b->id);
  });
  if (runs.empty()) return;
  double high = 0;
  for (const RunSummary* run : runs) high = std::max(high, static_cast<double>(run->p50_ns));
  const ChartScale y{0, high * 1.15, bottom, top, false};
  drawAxisY(ui_, y, left, right, [](double ns) { return fmt::format("{:.4g} ms", ns / 1e6); });
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float step = runs.size() > 1 ? (right - left) / static_cast<float>(runs.size() - 1) : 0;
  ImVec2 before{};
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const ImVec2 at = {left + step * static_cast<float>(r), y.at(static_cast<double>(runs[r]->p50_ns))};
    const bool follows = r > 0 && runs[r]->sha256 == runs[r - 1]->sha256;
    if (follows) list->AddLine(before, at, withAlpha(ui_.theme.accent, 0.5F), 1.5F * ui_.scale);
    before = at;
    const auto chosen = std::find(chosen_.begin(), chosen_.end(), runs[r]->id);
    list->AddCircleFilled(at, ui_.px(chosen != chosen_.end() ? 4 : 2.5F), ui_.theme.accent, 12);
    if (chosen != chosen_.end())
      chartText(ui_, {at.x, at.y - ui_.px(19)}, ui_.theme.text,
                runLetter(static_cast<std::size_t>(chosen - chosen_.begin())), 0.5F);
  }
}

void RunHistoryTable::draw(Commands& commands) {
  drawTrend();
  ImGui::SetCursorPos({0, ui_.px(kTrendPoints)});
  const bool resort = table_.draw("runs", ImGui::GetContentRegionAvail().y, static_cast<int>(rows_.size()), [&](int i) {
    const Row& row = rows_[static_cast<std::size_t>(i)];
    const RunSummary& run = *row.run;
    const auto chosen = std::find(chosen_.begin(), chosen_.end(), run.id);
    const bool is_chosen = chosen != chosen_.end();
    const std::string mark = is_chosen ? runLetter(static_cast<std::size_t>(chosen - chosen_.begin())) : "";
    if (table_.beginRow(i, is_chosen || i == marked_, mark, ui_.theme.accent, 0)) toggle(run.id, commands);
    if (ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left))
      commands.post(ShowJobCommand{run.job});
    table_.number(1, ui_.theme.dim, std::to_string(run.id));
    table_.text(2, i == marked_ ? ui_.theme.accent : ui_.theme.text, dateText(run.started_unix_ns).substr(0, 16));
    const std::string model = run.sha256 == sha256_ ? "" : " · " + displayText(fileName(run.model_path), 24);
    table_.text(3, ui_.theme.text, displayText(run.variant, 24) + model);
    table_.text(4, ui_.theme.text, displayText(run.precision, 12));
    table_.number(5, ui_.theme.dim,
                  run.instances > 1 ? fmt::format("{}×{}", run.instances, run.threads) : std::to_string(run.threads));
    table_.text(6, ui_.theme.dim, machineText(run));
    table_.number(7, ui_.theme.text, fmt::format("{:.3f}", static_cast<double>(run.p50_ns) / 1e6));
    table_.number(8,
                  row.disturbed          ? ui_.theme.warning
                  : row.speedup >= 1.005 ? ui_.theme.good
                                         : ui_.theme.dim,
                  row.speedup > 0 ? fmt::format("{:.2f}×", row.speedup) : "–");
    if (row.disturbed && row.speedup > 0 && ImGui::IsItemHovered())
      tooltip("The machine was not quiet while this was measured.");
  });
  if (resort) sort();
}

void RunHistoryTable::toggle(std::int64_t run, Commands& commands) {
  std::vector<std::int64_t> runs = chosen_;
  const auto at = std::find(runs.begin(), runs.end(), run);
  if (at != runs.end()) {
    runs.erase(at);
  } else {
    if (runs.size() >= kMaxRuns) runs.pop_back();
    runs.push_back(run);
  }
  chosen_ = runs;
  if (runs.size() != 1) commands.post(CompareCommand{runs});
}

void RunHistoryTable::adopt(const RunSet* set) {
  chosen_.clear();
  if (set == nullptr) return;
  for (const RunSummary& run : set->runs) {
    if (run.id > 0) chosen_.push_back(run.id);
  }
}

void RunHistoryTable::act(Selection& selection, Commands& commands) {
  const auto count = static_cast<int>(rows_.size());
  if (marked_ >= count) marked_ = -1;
  const auto mark = [&](int step) {
    if (count == 0) return;
    marked_ = marked_ < 0 ? (step > 0 ? 0 : count - 1) : std::clamp(marked_ + step, 0, count - 1);
    table_.scrollTo(marked_);
  };
  if (selection.take("runs.next")) mark(1);
  if (selection.take("runs.previous")) mark(-1);
  if (selection.take("runs.choose") && marked_ >= 0) toggle(rows_[static_cast<std::size_t>(marked_)].run->id, commands);
  if (selection.take("runs.show") && marked_ >= 0)
    commands.post(ShowJobCommand{rows_[static_cast<std::size_t>(marked_)].run->job});
}

}  // namespace ipex_studio
