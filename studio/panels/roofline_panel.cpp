// Bottom tab: the distance of each step from the machine's peaks, and the steps with the most to gain.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "studio/panels/chart.h"
#include "studio/panels/data_table.h"
#include "studio/panels/panel.h"
#include "studio/panels/table_cells.h"

namespace ipex_studio {
namespace {

constexpr float kRooflineListPoints = 380;
constexpr float kRooflineAxisPoints = 40;
constexpr float kRooflineSidePoints = 62;
constexpr std::size_t kMaxListed = 60;
constexpr std::size_t kMaxDots = 10000;  // number of dots drawn, those of the slowest steps

struct Dot {
  std::int32_t row = 0;
  double intensity = 0;  // operations per byte of memory traffic, in FLOP per byte
  double speed = 0;      // speed in GFLOP/s
  double roof = 0;       // roof at this intensity in GFLOP/s; 0: unknown
  double gain_ns = 0;    // time that the step would save at the roof
};

class RooflinePanel : public Panel {
 public:
  explicit RooflinePanel(const Ui& ui) : ui_(ui) {}
  const char* name() const override { return "roofline"; }
  const char* title() const override { return "Roofline"; }
  PanelPlace place() const override { return PanelPlace::kBottomTab; }

  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) override {
    const RunIndex& run = snapshot.index->optimized;
    if (shown_index_ != snapshot.index || shown_roof_ != snapshot.peaks.fp32_gflops) {
      shown_index_ = snapshot.index;
      shown_roof_ = snapshot.peaks.fp32_gflops;
      collect(run, snapshot.peaks);
    }
    if (dots_.empty()) {
      const bool timed = run.run != nullptr && run.latency.p50_ns > 0;
      emptyState(ui_, timed ? "No steps to place" : "Nothing was measured yet",
                 timed ? "No step of this run has both a time and a count of operations."
                       : pressOptimize(snapshot) + ": each step is placed under the machine's measured roofs.");
      return;
    }
    stepByKey(run, selection);
    drawChartBesideList(
        ui_, {"gains", kRooflineListPoints, 340, {10, 10}}, [&] { drawChart(run, snapshot.peaks, selection); },
        [&] { drawGains(run, snapshot.peaks, selection); });
  }

 private:
  void collect(const RunIndex& run, const MachinePeaks& peaks) {
    dots_.clear();
    precisions_.clear();
    best_seen_.clear();
    moving_ns_ = 0;
    moving_ = 0;
    for (std::size_t r = 0; r < run.rows.size(); ++r) {
      const OperationRow& row = run.rows[r];
      if (row.step < 0 || row.time.p50_ns <= 0) continue;
      const StepRecord& step = run.run->steps[static_cast<std::size_t>(row.step)];
      if (step.flops <= 0 || step.bytes <= 0) {
        ++moving_;
        moving_ns_ += row.time.p50_ns;
        continue;
      }
      Dot dot;
      dot.row = static_cast<std::int32_t>(r);
      dot.intensity = static_cast<double>(step.flops) / static_cast<double>(step.bytes);
      dot.speed = static_cast<double>(step.flops) / row.time.p50_ns;
      double& seen = best_seen_[row.precision];
      seen = std::max(seen, dot.speed);
      dots_.push_back(dot);
    }
    std::stable_sort(dots_.begin(), dots_.end(), [&](const Dot& a, const Dot& b) {
      return run.rows[static_cast<std::size_t>(a.row)].time.p50_ns >
             run.rows[static_cast<std::size_t>(b.row)].time.p50_ns;
    });
    if (dots_.size() > kMaxDots) dots_.resize(kMaxDots);
    for (Dot& dot : dots_) {
      if (!peaks.known()) break;
      const OperationRow& row = run.rows[static_cast<std::size_t>(dot.row)];
      dot.roof = std::min(roofOf(peaks, row.precision), dot.intensity * peaks.memory_gb_s);
      if (dot.roof > dot.speed) dot.gain_ns = row.time.p50_ns * (1 - dot.speed / dot.roof);
    }
    for (const auto& [precision, speed] : best_seen_) precisions_.insert(precision);
    gains_.clear();
    for (std::size_t d = 0; d < dots_.size(); ++d) {
      if (dots_[d].gain_ns > 0) gains_.push_back(d);
    }
    std::stable_sort(gains_.begin(), gains_.end(),
                     [this](std::size_t a, std::size_t b) { return dots_[a].gain_ns > dots_[b].gain_ns; });
  }

  // Selects the next step by the gain at the roof, or by time if no roof is known.
  void stepByKey(const RunIndex& run, Selection& selection) const {
    const auto count = static_cast<int>(gains_.empty() ? dots_.size() : gains_.size());
    const auto origins = [&](int i) -> const std::vector<OriginId>& {
      const auto at = static_cast<std::size_t>(i);
      return run.rows[static_cast<std::size_t>(dots_[gains_.empty() ? at : gains_[at]].row)].origins;
    };
    int current = -1;
    for (int i = 0; i < count && current < 0 && !selection.empty(); ++i) {
      if (selection.overlaps(origins(i))) current = i;
    }
    const int next = rowByKey(selection, current, count);
    if (next >= 0) selection.select(origins(next), true);
  }

  // The roof of a precision, at least the highest speed that a step reached: a short measurement on a busy machine
  // can give too little.
  double roofOf(const MachinePeaks& peaks, const std::string& precision) const {
    const auto seen = best_seen_.find(precision);
    return std::max(peaks.roof(precision), seen == best_seen_.end() ? 0 : seen->second);
  }

  void drawChart(const RunIndex& run, const MachinePeaks& peaks, Selection& selection) const {
    const ImVec2 window = ImGui::GetWindowPos();
    const ImVec2 size = ImGui::GetWindowSize();
    const float left = window.x + ui_.px(kRooflineSidePoints);
    const float right = std::max(left + 20, window.x + size.x - ui_.px(16));
    const float top = window.y + ui_.px(14);
    const float bottom = std::max(top + 20, window.y + size.y - ui_.px(kRooflineAxisPoints));
    double low_x = 1e300, high_x = 0, low_y = 1e300, high_y = 0;
    for (const Dot& dot : dots_) {
      low_x = std::min(low_x, dot.intensity);
      high_x = std::max(high_x, dot.intensity);
      low_y = std::min(low_y, dot.speed);
      high_y = std::max(high_y, dot.speed);
    }
    for (const std::string& precision : precisions_) high_y = std::max(high_y, roofOf(peaks, precision));
    const ChartScale x{low_x / 1.6, high_x * 1.8, left, right, true};
    const ChartScale y{std::max(low_y / 1.6, high_y * 1e-6), high_y * 2.4, bottom, top, true};
    drawAxisX(ui_, x, top, bottom, tickText);
    drawAxisY(ui_, y, left, right, tickText);
    chartText(ui_, {(left + right) / 2, bottom + ui_.px(20)}, ui_.theme.dim, "FLOP per byte moved at least", 0.5F);
    chartText(ui_, {left + ui_.px(6), top}, ui_.theme.dim, "GFLOP/s");
    ImGui::PushClipRect({left, top}, {right, bottom}, true);
    drawRoofs(peaks, x, y);
    ImGui::PopClipRect();
    ImGui::SetCursorScreenPos({left, top});
    ImGui::InvisibleButton("roofline", {right - left, bottom - top});
    drawDots(run, x, y, selection);
  }

  void drawRoofs(const MachinePeaks& peaks, const ChartScale& x, const ChartScale& y) const {
    if (!peaks.known()) {
      chartText(ui_, {x.end - ui_.px(8), y.end + ui_.px(4)}, ui_.theme.dim,
                "recorded on another machine: its roofs are not known", 1);
      return;
    }
    ImDrawList* list = ImGui::GetWindowDrawList();
    double highest = 0;
    for (const std::string& precision : precisions_) {
      const double roof = roofOf(peaks, precision);
      highest = std::max(highest, roof);
      const double ridge = roof / peaks.memory_gb_s;
      const float from = std::max(x.begin, x.at(ridge));
      list->AddLine({from, y.at(roof)}, {x.end, y.at(roof)}, ui_.theme.dim, 1.5F * ui_.scale);
      chartText(ui_, {x.end - ui_.px(8), y.at(roof) - ui_.px(17)}, ui_.theme.dim,
                fmt::format("{} {:.0f} GFLOP/s{}", displayText(precision, 12), roof,
                            roof > peaks.roof(precision) ? ", the best seen" : ""),
                1);
    }
    const auto slope = [&](double gb_s, const char* what, float alpha, double text_at) {
      const double ridge = highest / gb_s;
      const double from = x.low;
      list->AddLine({x.at(from), y.at(from * gb_s)}, {x.at(ridge), y.at(highest)}, withAlpha(ui_.theme.dim, alpha),
                    1.5F * ui_.scale);
      const double at = std::sqrt(std::max(from, y.low / gb_s) * std::min(ridge, x.high));
      const double place = std::pow(at, text_at) * std::pow(std::max(from, y.low / gb_s), 1 - text_at);
      if (place < from || x.at(place) + ui_.px(120) > x.end) return;
      chartText(ui_, {x.at(place) + ui_.px(10), y.at(place * gb_s) + ui_.px(2)}, ui_.theme.dim,
                fmt::format("{} {:.0f} GB/s", what, gb_s));
    };
    slope(peaks.memory_gb_s, "memory", 1, 1);
    if (peaks.cache_gb_s > peaks.memory_gb_s * 1.2) slope(peaks.cache_gb_s, "cache", 0.45F, 0.5);
  }

  void drawDots(const RunIndex& run, const ChartScale& x, const ChartScale& y, Selection& selection) const {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const bool hovered = ImGui::IsItemHovered();
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const Dot* under = nullptr;
    float nearest = ui_.px(12);
    for (const Dot& dot : dots_) {
      const OperationRow& row = run.rows[static_cast<std::size_t>(dot.row)];
      const ImVec2 at = {x.at(dot.intensity), y.at(dot.speed)};
      const float radius = ui_.px(2.5F + 9 * std::sqrt(static_cast<float>(std::clamp(row.share, 0.0, 1.0))));
      const bool selected = !selection.empty() && selection.overlaps(row.origins);
      list->AddCircleFilled(at, radius, withAlpha(ui_.theme.kind(row.group), selected ? 1 : 0.75F), 16);
      if (selected) list->AddCircle(at, radius + ui_.px(2), ui_.theme.text, 20, 1.5F * ui_.scale);
      const float distance = std::hypot(at.x - mouse.x, at.y - mouse.y);
      if (hovered && distance < nearest) {
        nearest = distance;
        under = &dot;
      }
    }
    if (under == nullptr) return;
    const OperationRow& row = run.rows[static_cast<std::size_t>(under->row)];
    std::string text =
        fmt::format("{}\n{} · {} · {}\n{:.0f} GFLOP/s at {:.1f} FLOP per byte\n{} ({:.1f} %)", row.name, row.kind,
                    row.kernel, row.precision, under->speed, under->intensity, formatSpread(row.time), row.share * 100);
    if (under->roof > 0) text += fmt::format("\n{:.0f} % of the roof over it", under->speed / under->roof * 100);
    tooltip(text);
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) selection.select(row.origins, true);
  }

  void drawGains(const RunIndex& run, const MachinePeaks& peaks, Selection& selection) const {
    label(ui_.theme.text, "Farthest below the roof", ui_.fonts.head);
    if (!peaks.known()) {
      paragraph(ui_.theme.dim, "Open the model on this machine and optimize it: its roofs are measured then.");
      return;
    }
    paragraph(ui_.theme.dim,
              fmt::format("What a step would take less at its roof. Roofs on {} thread{}; dots above the "
                          "memory line work in the caches. {} step{} ({}) only move{} data.",
                          peaks.threads, peaks.threads == 1 ? "" : "s", moving_, moving_ == 1 ? "" : "s",
                          formatTime(moving_ns_), moving_ == 1 ? "s" : ""));
    ImGui::Dummy({1, ui_.px(4)});
    const float right = ImGui::GetCursorPosX() + ImGui::GetContentRegionAvail().x;
    for (std::size_t i = 0; i < std::min(gains_.size(), kMaxListed); ++i) {
      const Dot& dot = dots_[gains_[i]];
      const OperationRow& row = run.rows[static_cast<std::size_t>(dot.row)];
      ImGui::PushID(static_cast<int>(i));
      const ImVec2 at = ImGui::GetCursorPos();
      if (ImGui::Selectable("##gain", selection.overlaps(row.origins), 0, {0, ui_.px(17)}))
        selection.select(row.origins, true);
      ImGui::PopID();
      ImGui::SetCursorPos(at);
      swatch(ui_, ui_.theme.kind(row.group));
      ImGui::SameLine(0, ui_.px(7));
      fittedLabel(ui_, ui_.theme.text, row.name, right - ImGui::GetCursorPosX() - ui_.px(170));
      ImGui::SameLine();
      labelRight(ui_.theme.dim, fmt::format("{:.0f} % of roof", dot.speed / dot.roof * 100), right - ui_.px(84));
      ImGui::SameLine();
      labelRight(ui_.theme.text, "−" + formatTime(dot.gain_ns), right);
    }
  }

  const Ui& ui_;
  std::shared_ptr<const JobIndex> shown_index_;
  double shown_roof_ = -1;
  std::vector<Dot> dots_;
  std::vector<std::size_t> gains_;  // indexes into dots_, the largest gain first
  std::set<std::string> precisions_;
  std::map<std::string, double> best_seen_;  // highest speed of a step in GFLOP/s, by precision
  double moving_ns_ = 0;
  int moving_ = 0;
};

void fillRoofline(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"operation", "precision", "flop", "bytes", "flop_per_byte", "gflop_per_s", "roof_gflop_per_s"};
  const RunIndex& run = snapshot.index->optimized;
  const MachinePeaks& peaks = snapshot.peaks;
  for (const OperationRow& row : run.rows) {
    if (row.step < 0 || row.time.p50_ns <= 0) continue;
    const StepRecord& step = run.run->steps[static_cast<std::size_t>(row.step)];
    if (step.flops <= 0 || step.bytes <= 0) continue;
    const double intensity = whole(step.flops) / whole(step.bytes);
    const double roof =
        peaks.known() ? std::min(peaks.roof(row.precision), intensity * peaks.memory_gb_s) : kNotMeasured;
    table->rows.push_back({row.name, row.precision, whole(step.flops), whole(step.bytes), intensity,
                           whole(step.flops) / row.time.p50_ns, roof});
  }
}

}  // namespace

extern const PanelEntry kRooflinePanel;
const PanelEntry kRooflinePanel{
    "roofline", [](const Ui& ui) -> std::unique_ptr<Panel> { return std::make_unique<RooflinePanel>(ui); },
    fillRoofline, "Roofline", "5"};

}  // namespace ipex_studio
