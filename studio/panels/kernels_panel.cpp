// Bottom tab: for a step all kernels that were considered, with what each took and why others were refused; another one
// can be pinned and measured.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <unordered_map>

#include "studio/panels/chart.h"
#include "studio/panels/data_table.h"
#include "studio/panels/panel.h"
#include "studio/panels/table_cells.h"

namespace ipex_studio {
namespace {

constexpr float kCandidatesPoints = 520;

// A step with a choice of kernels, and its candidates.
struct StepChoices {
  std::int32_t row = 0;                           // row of the step, an index into RunIndex::rows
  std::vector<const DispatchRecord*> candidates;  // candidates, the timed ones first, the fastest of those first
  double next_best = 0;  // time of the best other candidate over that of the chosen one; 0: none was timed
};

class KernelsPanel : public Panel {
 public:
  explicit KernelsPanel(const Ui& ui)
      : ui_(ui),
        steps_(ui,
               {{"operation", 0, false, 0, 2},
                {"choices", 62, true, 0, 1, "Kernels and layouts that were considered."},
                {"ms", 62, true},
                {"next best", 74, true, 0, 1,
                 "What the best other choice would take, against the chosen one, measured alone."}},
               2, true),
        candidates_(
            ui,
            {{"kernel", 0, false, 0, 2},
             {"writes", 120, false, 900, 1, "The layout it leaves its result in."},
             {"ms", 70, true, 0, 1, "Alone, with the real sizes and weights."},
             {"v chosen", 76, true},
             {"max error", 84, true, 800, 1, "Largest difference from the default kernel, against the largest result."},
             {"why", 0, false, 0, 1.6F},
             {"", 84}},
            2, false) {}
  const char* name() const override { return "kernels"; }
  const char* title() const override { return "Kernels"; }
  PanelPlace place() const override { return PanelPlace::kBottomTab; }

  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) override {
    const RunIndex& run = snapshot.index->optimized;
    if (shown_index_ != snapshot.index || shown_tunings_ != snapshot.tunings) {
      shown_index_ = snapshot.index;
      shown_tunings_ = snapshot.tunings;
      collect(run);
    }
    if (choices_.empty()) {
      emptyState(
          ui_, "No choices were recorded",
          run.run == nullptr || !snapshot.work.tuning.possible
              ? pressOptimize(snapshot) + ": every kernel that could compute a step is timed and listed here."
              : "Tune… in the bar above, then Kernels at length, measures every kernel that could compute a step.");
      return;
    }
    if (steps_.sortByKey(selection)) sortSteps(run);
    const int selected = selectedStep(run, selection);
    act(snapshot, choices_[static_cast<std::size_t>(selected < 0 ? 0 : selected)], selection, commands);
    const float width = ImGui::GetWindowWidth();
    const float list = std::min(ui_.px(kCandidatesPoints), width * 0.45F);
    const float top = ImGui::GetCursorPosY();
    if (beginArea(ui_, "steps", {list, 0}, ui_.theme.panel, {0, 0}, ImGuiWindowFlags_NoScrollWithMouse))
      drawSteps(run, selected, selection);
    endArea();
    ImGui::SetCursorPos({list, top});
    if (beginArea(ui_, "candidates", {0, 0}, ui_.theme.panel, {0, 0}, ImGuiWindowFlags_NoScrollWithMouse))
      drawCandidates(snapshot, choices_[static_cast<std::size_t>(selected < 0 ? 0 : selected)], commands);
    endArea();
    const ImVec2 corner = ImGui::GetWindowPos();
    ImGui::GetWindowDrawList()->AddLine({corner.x + list, corner.y + top},
                                        {corner.x + list, corner.y + ImGui::GetWindowHeight()}, ui_.theme.line);
  }

 private:
  void collect(const RunIndex& run) {
    choices_.clear();
    measured_.clear();
    if (run.run == nullptr) return;
    std::unordered_map<std::int32_t, std::size_t> known;
    std::unordered_map<std::int32_t, std::int32_t> row_of_step;
    for (std::size_t r = 0; r < run.rows.size(); ++r) {
      if (run.rows[r].step < 0) continue;
      row_of_step.emplace(run.run->steps[static_cast<std::size_t>(run.rows[r].step)].index,
                          static_cast<std::int32_t>(r));
    }
    for (const DispatchRecord& dispatch : run.run->dispatches) {
      const auto row = row_of_step.find(dispatch.step);
      if (row == row_of_step.end()) continue;
      const auto [at, fresh] = known.emplace(dispatch.step, choices_.size());
      if (fresh) choices_.push_back({row->second, {}, 0});
      choices_[at->second].candidates.push_back(&dispatch);
    }
    for (StepChoices& choices : choices_) {
      addMeasured(run, &choices);
      sortCandidates(&choices);
      double chosen = 0, other = 0;
      for (const DispatchRecord* candidate : choices.candidates) {
        const auto ns = static_cast<double>(candidate->elapsed_ns);
        if (candidate->chosen) chosen = ns;
        if (!candidate->chosen && ns > 0 && (other == 0 || ns < other)) other = ns;
      }
      if (chosen > 0 && other > 0) choices.next_best = other / chosen;
    }
    sortSteps(run);
  }

  // Adds times from the tuning records of such steps: the run holds none if measuring kept the default.
  void addMeasured(const RunIndex& run, StepChoices* choices) {
    const bool timed = std::any_of(choices->candidates.begin(), choices->candidates.end(),
                                   [](const DispatchRecord* candidate) { return candidate->elapsed_ns > 0; });
    if (timed || !shown_tunings_) return;
    const StepRecord& step =
        run.run->steps[static_cast<std::size_t>(run.rows[static_cast<std::size_t>(choices->row)].step)];
    const auto entry = std::find_if(shown_tunings_->begin(), shown_tunings_->end(), [&](const TuningEntry& known) {
      return isTuningOf(known.spec, step.spec, step.dst_shape);
    });
    if (entry == shown_tunings_->end()) return;
    choices->candidates.clear();
    bool chosen = false;
    for (const TuningCandidate& candidate : entry->candidates) {
      DispatchRecord dispatch;
      dispatch.kernel = candidate.kernel;
      dispatch.layout = candidate.dst;
      dispatch.elapsed_ns = candidate.elapsed_ns;
      dispatch.max_error = candidate.max_error;
      dispatch.chosen = !chosen && candidate.kernel == step.kernel && candidate.reason.empty() &&
                        shortLayout(candidate.dst) == step.dst_layout;
      chosen = chosen || dispatch.chosen;
      dispatch.reason = !candidate.reason.empty() ? candidate.reason
                        : dispatch.chosen         ? "chosen"
                                                  : "not faster in the plan";
      measured_.push_back(std::move(dispatch));
      choices->candidates.push_back(&measured_.back());
    }
  }

  // The plans' name of a layout that measuring tries: "nhwc" of "channels-last".
  static std::string shortLayout(const std::string& layout) {
    if (layout == "channels-last") return "nhwc";
    if (layout == "row-major") return "nchw";
    return layout.compare(0, 8, "blocked-") == 0 ? "nChw" + layout.substr(8) + "c" : layout;
  }

  void sortSteps(const RunIndex& run) {
    const int column = steps_.sortColumn();
    const auto less = [&](const StepChoices& a, const StepChoices& b) {
      const OperationRow& x = run.rows[static_cast<std::size_t>(a.row)];
      const OperationRow& y = run.rows[static_cast<std::size_t>(b.row)];
      if (column == 0) return x.name < y.name;
      if (column == 1) return a.candidates.size() < b.candidates.size();
      if (column == 3) return a.next_best < b.next_best;
      return x.time.p50_ns < y.time.p50_ns;
    };
    std::stable_sort(choices_.begin(), choices_.end(), [&](const StepChoices& a, const StepChoices& b) {
      return steps_.descending() ? less(b, a) : less(a, b);
    });
  }

  // Sorts the candidates; those without a time are always last.
  void sortCandidates(StepChoices* choices) const {
    const int column = candidates_.sortColumn();
    const auto less = [column](const DispatchRecord& a, const DispatchRecord& b) {
      if (column == 0) return a.kernel < b.kernel;
      if (column == 1) return a.layout < b.layout;
      if (column == 4) return a.max_error < b.max_error;
      if (column == 5) return a.reason < b.reason;
      return a.elapsed_ns < b.elapsed_ns;
    };
    std::stable_sort(choices->candidates.begin(), choices->candidates.end(),
                     [&](const DispatchRecord* a, const DispatchRecord* b) {
                       const bool timed_a = a->elapsed_ns > 0, timed_b = b->elapsed_ns > 0;
                       if (timed_a != timed_b) return timed_a;
                       return candidates_.descending() ? less(*b, *a) : less(*a, *b);
                     });
  }

  // Carries out requested actions: marks another candidate of the shown step, and pins the marked one.
  void act(const StudioSnapshot& snapshot, const StepChoices& choices, Selection& selection, Commands& commands) {
    const StepRecord& step = stepOf(snapshot, choices);
    if (marked_step_ != step.index) marked_ = -1;
    marked_step_ = step.index;
    const auto count = static_cast<int>(choices.candidates.size());
    const auto can_pin = [&](int c) {
      const DispatchRecord& candidate = *choices.candidates[static_cast<std::size_t>(c)];
      return candidate.elapsed_ns > 0 && !candidate.chosen;
    };
    const auto mark = [&](int step_by) {
      for (int c = marked_ + step_by; c >= 0 && c < count; c += step_by) {
        if (!can_pin(c)) continue;
        marked_ = c;
        candidates_.scrollTo(c);
        return;
      }
    };
    if (marked_ >= count) marked_ = -1;
    if (selection.take("kernel.next")) mark(1);
    if (selection.take("kernel.previous")) mark(-1);
    if (!selection.take("kernel.pin") || !snapshot.overrides.possible) return;
    if (marked_ < 0) mark(1);
    if (marked_ >= 0)
      commands.post(OverrideCommand{
          snapshot.overrides.now.with(pinOf(step, *choices.candidates[static_cast<std::size_t>(marked_)])), true});
  }

  static const StepRecord& stepOf(const StudioSnapshot& snapshot, const StepChoices& choices) {
    const RunIndex& run = snapshot.index->optimized;
    return run.run->steps[static_cast<std::size_t>(run.rows[static_cast<std::size_t>(choices.row)].step)];
  }

  static KernelPin pinOf(const StepRecord& step, const DispatchRecord& candidate) {
    return {step.spec, step.dst_shape, candidate.kernel, candidate.layout, displayText(step.name, 80)};
  }

  int selectedStep(const RunIndex& run, Selection& selection) {
    int current = -1;
    for (std::size_t c = 0; c < choices_.size() && !selection.empty(); ++c) {
      if (!selection.overlaps(run.rows[static_cast<std::size_t>(choices_[c].row)].origins)) continue;
      current = static_cast<int>(c);
      break;
    }
    if (reveal_generation_ != selection.revealGeneration() && current >= 0) steps_.scrollTo(current);
    reveal_generation_ = selection.revealGeneration();
    const int moved = rowByKey(selection, current, static_cast<int>(choices_.size()));
    if (moved < 0) return current;
    steps_.scrollTo(moved);
    selection.select(run.rows[static_cast<std::size_t>(choices_[static_cast<std::size_t>(moved)].row)].origins, true);
    return moved;
  }

  void drawSteps(const RunIndex& run, int selected, Selection& selection) {
    const bool resort =
        steps_.draw("steps", ImGui::GetContentRegionAvail().y, static_cast<int>(choices_.size()), [&](int i) {
          const StepChoices& choices = choices_[static_cast<std::size_t>(i)];
          const OperationRow& row = run.rows[static_cast<std::size_t>(choices.row)];
          if (steps_.beginRow(i, i == selected || (selected < 0 && i == 0), row.name, ui_.theme.text,
                              ui_.theme.kind(row.group)))
            selection.select(row.origins, true);
          steps_.number(1, ui_.theme.dim, std::to_string(choices.candidates.size()));
          steps_.number(2, ui_.theme.text, fmt::format("{:.3f}", row.time.p50_ns / 1e6));
          // Below 1 the kernel alone is faster, but not with the reorders that it needs.
          steps_.number(3, choices.next_best > 0 && choices.next_best < 1 ? ui_.theme.warning : ui_.theme.dim,
                        choices.next_best > 0 ? fmt::format("{:.2f}×", choices.next_best) : "–");
        });
    if (resort) sortSteps(run);
  }

  void drawCandidates(const StudioSnapshot& snapshot, const StepChoices& choices, Commands& commands) {
    const RunIndex& run = snapshot.index->optimized;
    const OperationRow& row = run.rows[static_cast<std::size_t>(choices.row)];
    ImGui::SetCursorPos({ui_.px(12), ui_.px(8)});
    fittedLabel(ui_, ui_.theme.text, row.name, ImGui::GetContentRegionAvail().x * 0.5F, ui_.fonts.strong);
    ImGui::SameLine(0, ui_.px(12));
    ImGui::SetCursorPosY(ui_.px(10));
    fittedLabel(ui_, ui_.theme.dim,
                fmt::format("{} · {} · {} in the plan", row.output, row.layout, formatSpread(row.time)),
                ImGui::GetContentRegionAvail().x - ui_.px(10));
    ImGui::SetCursorPosY(ui_.px(32));
    double chosen_ns = 0;
    for (const DispatchRecord* candidate : choices.candidates) {
      if (candidate->chosen) chosen_ns = static_cast<double>(candidate->elapsed_ns);
    }
    const StepRecord& step = stepOf(snapshot, choices);
    const bool resort = candidates_.draw(
        "candidates", ImGui::GetContentRegionAvail().y, static_cast<int>(choices.candidates.size()), [&](int i) {
          drawCandidate(snapshot, *choices.candidates[static_cast<std::size_t>(i)], step, chosen_ns, i, commands);
        });
    if (!resort) return;
    for (StepChoices& each : choices_) sortCandidates(&each);
  }

  void drawCandidate(const StudioSnapshot& snapshot, const DispatchRecord& candidate, const StepRecord& step,
                     double chosen_ns, int position, Commands& commands) {
    const bool timed = candidate.elapsed_ns > 0;
    const KernelPin pin = pinOf(step, candidate);
    const auto& pins = snapshot.overrides.now.pins;
    const bool pinned = std::find(pins.begin(), pins.end(), pin) != pins.end();
    const ImU32 ink = candidate.chosen ? ui_.theme.text : timed ? ui_.theme.dim : withAlpha(ui_.theme.dim, 0.8F);
    candidates_.beginRow(position, candidate.chosen || position == marked_, displayText(candidate.kernel, 60), ink, 0);
    candidates_.text(1, ui_.theme.dim, displayText(candidate.layout, 32), ui_.fonts.mono);
    const auto ns = static_cast<double>(candidate.elapsed_ns);
    candidates_.number(2, ink, timed ? fmt::format("{:.3f}", ns / 1e6) : "–");
    candidates_.number(3, ink, timed && chosen_ns > 0 ? fmt::format("{:.2f}×", ns / chosen_ns) : "–");
    candidates_.number(4, ui_.theme.dim, candidate.max_error > 0 ? fmt::format("{:.1e}", candidate.max_error) : "–");
    const std::string why = pinned ? "pinned" : candidate.chosen ? "chosen" : kernelReason(candidate.reason);
    candidates_.text(5, pinned || candidate.chosen ? ui_.theme.accent : ui_.theme.dim, why);
    if (!timed || !candidates_.cell(6)) return;
    const bool possible = snapshot.overrides.possible && (pinned || !candidate.chosen);
    ImGui::PushID(position);
    if (possible && link(ui_, "pin", pinned ? "unpin" : "pin and try"))
      commands.post(OverrideCommand{snapshot.overrides.now.with(pin), true});
    ImGui::PopID();
  }

  const Ui& ui_;
  DataTable steps_;
  DataTable candidates_;
  std::shared_ptr<const JobIndex> shown_index_;
  std::shared_ptr<const std::vector<TuningEntry>> shown_tunings_;
  std::deque<DispatchRecord> measured_;  // records made of tuning entries
  std::vector<StepChoices> choices_;     // steps of shown_index_
  std::uint64_t reveal_generation_ = 0;
  int marked_ = -1;                // index of the candidate that keys have reached; -1: none
  std::int32_t marked_step_ = -1;  // index of the step of marked_; -1: none
};

void fillKernels(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"operation", "kernel", "layout", "chosen", "time_ms", "max_error", "reason", "spec", "output"};
  const RunRecord* run = snapshot.index->optimized.run;
  if (run == nullptr) return;
  std::unordered_map<std::int32_t, const StepRecord*> steps;
  for (const StepRecord& step : run->steps) steps.emplace(step.index, &step);
  for (const DispatchRecord& dispatch : run->dispatches) {
    const auto step = steps.find(dispatch.step);
    if (step == steps.end()) continue;
    table->rows.push_back({step->second->name, dispatch.kernel, dispatch.layout,
                           std::string(dispatch.chosen ? "yes" : "no"), orUnknown(ms(whole(dispatch.elapsed_ns))),
                           orUnknown(dispatch.max_error), dispatch.reason, step->second->spec,
                           step->second->dst_shape});
  }
}

std::vector<ActionGroup> kernelsActions() {
  return {{730,
           {{"kernel.next", "Kernels: mark the next one", "Ctrl+Down"},
            {"kernel.previous", "Kernels: mark the one before", "Ctrl+Up"},
            {"kernel.pin", "Kernels: pin one and measure", "Ctrl+K"}}}};
}

}  // namespace

extern const PanelEntry kKernelsPanel;
const PanelEntry kKernelsPanel{
    "kernels",   [](const Ui& ui) -> std::unique_ptr<Panel> { return std::make_unique<KernelsPanel>(ui); },
    fillKernels, "Kernels: what else could compute a step",
    "7",         kernelsActions()};

}  // namespace ipex_studio
