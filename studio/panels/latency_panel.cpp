// Bottom tab: how latency is spread: a histogram of both variants with their percentiles.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "profiler/statistics.h"
#include "studio/panels/chart.h"
#include "studio/panels/panel.h"
#include "studio/panels/table_cells.h"

namespace ipex_studio {
namespace {

constexpr float kLatencyListPoints = 380;
constexpr float kLatencyAxisPoints = 24;
constexpr float kLatencySidePoints = 46;
constexpr int kMaxBins = 90;
// Share of the samples in view; the number of the others stands at the edge.
constexpr double kShownShare = 0.99;
constexpr double kMaxOfWidest = 3;

struct Spread {
  std::string name;
  LatencyStats stats;
  double throughput_per_s = 0;
  std::vector<std::int64_t> sorted;
  std::vector<int> bins;
  double low_ns = 0;  // ends of the axis
  double high_ns = 1;
};

class LatencyPanel : public Panel {
 public:
  explicit LatencyPanel(const Ui& ui) : ui_(ui) {}
  const char* name() const override { return "latency"; }
  const char* title() const override { return "Latency"; }
  PanelPlace place() const override { return PanelPlace::kBottomTab; }

  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) override {
    if (shown_index_ != snapshot.index) {
      shown_index_ = snapshot.index;
      collect(*snapshot.index);
    }
    if (spreads_.empty()) {
      emptyState(ui_, "Nothing was measured yet",
                 pressOptimize(snapshot) + ": how much single runs differ is drawn here.");
      return;
    }
    drawChartBesideList(
        ui_, {"numbers", kLatencyListPoints, 300, {14, 12}}, [&] { drawCharts(); }, [&] { drawNumbers(); });
  }

 private:
  void collect(const JobIndex& index) {
    spreads_.clear();
    for (const RunIndex* run : {&index.baseline, &index.optimized}) {
      if (run->run == nullptr || run->run->latency_ns.empty()) continue;
      Spread spread;
      spread.name = run == &index.baseline ? "baseline" : "optimized";
      spread.sorted = run->run->latency_ns;
      std::sort(spread.sorted.begin(), spread.sorted.end());
      spread.stats = latencyStats(run->run->latency_ns);
      if (spread.stats.mean_ns > 0) spread.throughput_per_s = run->run->instances * 1e9 / spread.stats.mean_ns;
      spreads_.push_back(std::move(spread));
    }
    double low = 1e300, high = 0, widest = 0;
    for (Spread& spread : spreads_) {
      const auto last = static_cast<std::size_t>(static_cast<double>(spread.sorted.size() - 1) * kShownShare);
      spread.low_ns = static_cast<double>(spread.sorted.front());
      spread.high_ns = static_cast<double>(spread.sorted[last]);
      const double margin = std::max((spread.high_ns - spread.low_ns) * 0.06, spread.high_ns * 0.002);
      spread.low_ns = std::max(0.0, spread.low_ns - margin);
      spread.high_ns += margin;
      low = std::min(low, spread.low_ns);
      high = std::max(high, spread.high_ns);
      widest = std::max(widest, spread.high_ns - spread.low_ns);
    }
    // Both variants share an axis unless the gap between them would fill most of it.
    shared_axis_ = high - low < widest * kMaxOfWidest;
    for (Spread& spread : spreads_) {
      if (shared_axis_) {
        spread.low_ns = low;
        spread.high_ns = high;
      }
      spread.bins.assign(kMaxBins, 0);
      for (const std::int64_t sample : spread.sorted) {
        const double place =
            (static_cast<double>(sample) - spread.low_ns) / (spread.high_ns - spread.low_ns) * kMaxBins;
        ++spread.bins[static_cast<std::size_t>(std::clamp(place, 0.0, kMaxBins - 1.0))];
      }
    }
  }

  void drawCharts() const {
    const ImVec2 window = ImGui::GetWindowPos();
    const ImVec2 size = ImGui::GetWindowSize();
    const float left = window.x + ui_.px(kLatencySidePoints);
    const float right = std::max(left + 20, window.x + size.x - ui_.px(16));
    const auto count = static_cast<float>(spreads_.size());
    const float axes = ui_.px(kLatencyAxisPoints) * (shared_axis_ ? 1 : count);
    const float each = (size.y - axes - ui_.px(10)) / count;
    if (each < ui_.px(30)) return;
    const auto text = [](double ns) { return fmt::format("{:.6g} ms", ns / 1e6); };
    float top = window.y + ui_.px(10);
    for (std::size_t s = 0; s < spreads_.size(); ++s) {
      const ChartScale x{spreads_[s].low_ns, spreads_[s].high_ns, left, right, false};
      const bool with_axis = !shared_axis_ || s + 1 == spreads_.size();
      const float bottom = top + each - ui_.px(4);
      if (with_axis) drawAxisX(ui_, x, shared_axis_ ? window.y + ui_.px(30) : top + ui_.px(22), bottom, text);
      drawHistogram(spreads_[s], x, top + ui_.px(22), bottom, s + 1 == spreads_.size());
      top += each + (with_axis ? ui_.px(kLatencyAxisPoints) : 0);
    }
  }

  void drawHistogram(const Spread& spread, const ChartScale& x, float top, float bottom, bool optimized) const {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const int most = *std::max_element(spread.bins.begin(), spread.bins.end());
    const ImU32 color = optimized ? ui_.theme.accent : ui_.theme.kind(KindGroup::kElementwise);
    const float width = (x.end - x.begin) / kMaxBins;
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    for (int b = 0; b < kMaxBins; ++b) {
      const int count = spread.bins[static_cast<std::size_t>(b)];
      if (count == 0) continue;
      const float from = x.begin + width * static_cast<float>(b);
      const float height = std::max(ui_.px(1), (bottom - top) * static_cast<float>(count) / static_cast<float>(most));
      list->AddRectFilled({from, bottom - height}, {from + width - 1, bottom}, withAlpha(color, 0.75F));
      if (!ImGui::IsWindowHovered() || mouse.x < from || mouse.x >= from + width || mouse.y < top || mouse.y > bottom)
        continue;
      const double ns = (spread.high_ns - spread.low_ns) / kMaxBins;
      tooltip(fmt::format("{} runs from {} to {}{}", count, formatTime(spread.low_ns + ns * b),
                          formatTime(spread.low_ns + ns * (b + 1)), b + 1 == kMaxBins ? " or longer" : ""));
    }
    list->AddLine({x.begin, bottom}, {x.end, bottom}, ui_.theme.line);
    chartText(ui_, {x.begin, top - ui_.px(20)}, ui_.theme.text, spread.name);
    // Names keep a distance even if their values do not.
    float free_from = x.begin + ui_.px(70);
    const std::array<std::pair<const char*, double>, 4> marks = {{{"p50", spread.stats.p50_ns},
                                                                  {"p90", spread.stats.p90_ns},
                                                                  {"p95", spread.stats.p95_ns},
                                                                  {"p99", spread.stats.p99_ns}}};
    for (const auto& [name, value] : marks) {
      const float at = std::floor(std::min(x.at(value), x.end));
      list->AddLine({at, top - ui_.px(2)}, {at, bottom}, ui_.theme.text);
      if (at < free_from) continue;
      chartText(ui_, {at, top - ui_.px(19)}, ui_.theme.dim, name, 0.5F);
      free_from = at + ui_.px(32);
    }
  }

  void drawNumbers() const {
    constexpr float kLines = 10;
    // Lines move together if that brings all of them into view.
    const float spacing = (ImGui::GetContentRegionAvail().y - kLines * ImGui::GetTextLineHeight()) / kLines;
    ImGui::PushStyleVar(
        ImGuiStyleVar_ItemSpacing,
        {ImGui::GetStyle().ItemSpacing.x, std::clamp(std::floor(spacing), 1.F, ImGui::GetStyle().ItemSpacing.y)});
    const float left = ImGui::GetCursorPosX();
    const float column = ui_.px(108);
    const auto line = [&](const std::string& what, const auto& text) {
      ImGui::SetCursorPosX(left);
      label(ui_.theme.dim, what);
      for (std::size_t s = 0; s < spreads_.size(); ++s) {
        ImGui::SameLine();
        labelRight(ui_.theme.text, text(spreads_[s]), left + ui_.px(120) + column * static_cast<float>(s + 1));
      }
    };
    label(ui_.theme.dim, "ms", ui_.fonts.head);
    for (std::size_t s = 0; s < spreads_.size(); ++s) {
      ImGui::SameLine();
      labelRight(ui_.theme.dim, spreads_[s].name, left + ui_.px(120) + column * static_cast<float>(s + 1),
                 ui_.fonts.head);
    }
    const auto ms = [](double ns) { return fmt::format("{:.3f}", ns / 1e6); };
    line("fastest", [&](const Spread& s) { return ms(s.stats.min_ns); });
    line("p50", [&](const Spread& s) { return ms(s.stats.p50_ns); });
    line("p90", [&](const Spread& s) { return ms(s.stats.p90_ns); });
    line("p95", [&](const Spread& s) { return ms(s.stats.p95_ns); });
    line("p99", [&](const Spread& s) { return ms(s.stats.p99_ns); });
    line("slowest", [&](const Spread& s) { return ms(s.stats.max_ns); });
    line("mean", [&](const Spread& s) { return ms(s.stats.mean_ns); });
    line("runs", [](const Spread& s) { return std::to_string(s.stats.samples); });
    line("runs per s", [](const Spread& s) { return fmt::format("{:.1f}", s.throughput_per_s); });
    ImGui::PopStyleVar();
  }

  const Ui& ui_;
  std::shared_ptr<const JobIndex> shown_index_;
  std::vector<Spread> spreads_;
  bool shared_axis_ = true;
};

void fillLatency(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"variant", "runs", "min_ms", "mean_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "max_ms", "per_s"};
  for (const auto& [variant, run] : runsOf(*snapshot.index)) {
    const LatencyStats stats = latencyStats(run->run->latency_ns);
    table->rows.push_back({std::string(variant), whole(stats.samples), ms(stats.min_ns), ms(stats.mean_ns),
                           ms(stats.p50_ns), ms(stats.p90_ns), ms(stats.p95_ns), ms(stats.p99_ns), ms(stats.max_ns),
                           stats.mean_ns > 0 ? run->run->instances * 1e9 / stats.mean_ns : kNotMeasured});
  }
}

}  // namespace

extern const PanelEntry kLatencyPanel;
const PanelEntry kLatencyPanel{
    "latency", [](const Ui& ui) -> std::unique_ptr<Panel> { return std::make_unique<LatencyPanel>(ui); }, fillLatency,
    "Latency: how single runs differ", "6"};

}  // namespace ipex_studio
