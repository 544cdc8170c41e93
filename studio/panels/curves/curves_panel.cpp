// Bottom tab: a model over threads, instances, batch sizes and precisions: a line for each precision and split, the
// best points marked, and a button that takes one for the next run.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "core/record/curves_record.h"
#include "profiler/curves/curve_choice.h"
#include "profiler/curves/curves_table.h"
#include "profiler/text.h"
#include "studio/panels/chart.h"
#include "studio/panels/panel.h"
#include "studio/panels/table_cells.h"

namespace ipex_studio {
namespace {

constexpr float kCurvesToolsPoints = 42;
constexpr float kCurvesListPoints = 380;
constexpr float kCurvesSidePoints = 62;
constexpr float kCurvesEndPoints = 24;
constexpr float kCurvesLegendPoints = 22;

// What stands at the axes.
enum class CurvesX { kBatch, kCores };
enum class CurvesY { kLatency, kTail, kRequests, kSamples, kMemory };

struct CurvesMeasure {
  CurvesY y;
  const char* name;
  const char* axis;
  double (*value)(const CurvePoint&);
};

constexpr std::array<CurvesMeasure, 5> kCurvesMeasures = {
    {{CurvesY::kLatency, "p50", "ms a request takes, p50", [](const CurvePoint& p) { return p.p50_ns / 1e6; }},
     {CurvesY::kTail, "p99", "ms a request takes, p99", [](const CurvePoint& p) { return p.p99_ns / 1e6; }},
     {CurvesY::kRequests, "Requests/s", "requests answered per second", requestsPerSecond},
     {CurvesY::kSamples, "Samples/s", "samples computed per second", samplesPerSecond},
     {CurvesY::kMemory, "Memory", "MB of the engine",
      [](const CurvePoint& p) { return whole(p.memory_bytes) / 1e6; }}}};

// A line of the chart: points of equal precision and split, or batch size.
struct CurvesLine {
  std::string name;
  std::vector<std::size_t> points;  // by their place at the axis
};

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string shortSplit(const CurvePoint& point) { return fmt::format("{} × {}", point.instances, point.threads); }

// Text at the x axis.
std::string placeText(const CurvePoint& point, CurvesX x) {
  return x == CurvesX::kBatch ? std::to_string(point.batch) : shortSplit(point);
}

class CurvesPanel : public Panel {
 public:
  explicit CurvesPanel(const Ui& ui) : ui_(ui) {}
  const char* name() const override { return "curves"; }
  const char* title() const override { return "Curves"; }
  PanelPlace place() const override { return PanelPlace::kBottomTab; }

  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) override {
    if (shown_ != snapshot.work.curves) {
      shown_ = snapshot.work.curves;
      collect();
    }
    act(snapshot, selection, commands);
    if (!shown_) return drawEmpty(snapshot, selection);
    drawTools(snapshot, selection);
    drawChartBesideList(
        ui_, {"best", kCurvesListPoints, 340, {14, 12}}, [&] { drawChart(snapshot, commands); },
        [&] { drawList(snapshot, commands); });
  }

 private:
  static bool isWorking(const StudioSnapshot& snapshot) { return snapshot.status.state == JobState::kWorking; }

  void collect() {
    choice_ = shown_ ? chooseCurvePoints(*shown_) : CurveChoice();
    layOut();
    if (!shown_ || marked_ >= static_cast<int>(shown_->points.size())) marked_ = -1;
  }

  // Sorts the points into lines and places at the x axis.
  void layOut() {
    lines_.clear();
    places_.clear();
    if (!shown_) return;
    const auto& points = shown_->points;
    std::vector<std::size_t> order(points.size());
    for (std::size_t p = 0; p < order.size(); ++p) order[p] = p;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      if (x_ == CurvesX::kBatch) return points[a].batch < points[b].batch;
      return std::pair(points[a].instances, points[a].threads) < std::pair(points[b].instances, points[b].threads);
    });
    for (const std::size_t p : order) {
      const std::string place = placeText(points[p], x_);
      if (places_.empty() || places_.back() != place) places_.push_back(place);
      const std::string name =
          upper(points[p].precision) + ", " +
          (x_ == CurvesX::kBatch ? splitText(points[p]) : fmt::format("batch {}", points[p].batch));
      auto line = std::find_if(lines_.begin(), lines_.end(), [&](const CurvesLine& l) { return l.name == name; });
      if (line == lines_.end()) line = lines_.insert(lines_.end(), {name, {}});
      line->points.push_back(p);
    }
  }

  // Carries out requested actions.
  void act(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) {
    if (selection.take("curves.measure") && whyNotStart(snapshot).empty()) commands.post(CurvesCommand{});
    if (!shown_) return;
    const auto count = static_cast<int>(shown_->points.size());
    if (selection.take("curves.next") && count > 0) marked_ = (marked_ + 1) % count;
    if (selection.take("curves.axis")) turnAxis();
    if (selection.take("curves.measure-of")) y_ = (y_ + 1) % kCurvesMeasures.size();
    const std::optional<std::size_t> point = marked_ >= 0 ? std::optional<std::size_t>(marked_) : choice_.throughput;
    if (selection.take("curves.use") && point && whyNotStart(snapshot).empty())
      commands.post(UsePointCommand{shown_->points[*point]});
  }

  void turnAxis() {
    x_ = x_ == CurvesX::kBatch ? CurvesX::kCores : CurvesX::kBatch;
    layOut();
  }

  void drawEmpty(const StudioSnapshot& snapshot, Selection& selection) const {
    if (isWorking(snapshot)) {
      emptyState(ui_, "Measuring", "Points are drawn here after the first round.");
      return;
    }
    const std::string why_not = whyNotStart(snapshot);
    if (!why_not.empty()) return emptyState(ui_, "No curves were measured", why_not);
    const int pressed = offerState(ui_, "How should this model be run?",
                                   "Threads, instances, batch sizes and precisions are measured in turns, for about a "
                                   "minute beside what preparing takes. Cancel keeps what was measured.",
                                   {"Measure curves"});
    if (pressed == 0) selection.request("curves.measure");
  }

  // The button that measures, what stands at the axes, and whether the machine was quiet.
  void drawTools(const StudioSnapshot& snapshot, Selection& selection) {
    const float top = ImGui::GetCursorPosY() + std::floor(ui_.px(6));
    ImGui::SetCursorPos({ui_.px(10), top});
    if (button(ui_, "measure", isWorking(snapshot) ? "Measuring…" : "Measure again", ButtonLook::kPlain,
               whyNotStart(snapshot)))
      selection.request("curves.measure");
    ImGui::SameLine(0, ui_.px(16));
    for (const CurvesX x : {CurvesX::kBatch, CurvesX::kCores}) {
      const char* const text = x == CurvesX::kBatch ? "By batch" : "By cores";
      if (button(ui_, text, text, x == x_ ? ButtonLook::kChosen : ButtonLook::kQuiet) && x != x_) turnAxis();
      ImGui::SameLine(0, 0);
    }
    ImGui::SameLine(0, ui_.px(16));
    for (std::size_t m = 0; m < kCurvesMeasures.size(); ++m) {
      const CurvesMeasure& measure = kCurvesMeasures[m];
      if (button(ui_, measure.name, measure.name, m == y_ ? ButtonLook::kChosen : ButtonLook::kQuiet)) y_ = m;
      ImGui::SameLine(0, 0);
    }
    ImGui::SameLine(0, ui_.px(16));
    ImGui::SetCursorPosY(top + std::floor(ui_.px(6)));
    if (!shown_->noise.empty()) {
      const ImU32 color = shown_->noise == "quiet" ? ui_.theme.good : ui_.theme.warning;
      swatch(ui_, color);
      ImGui::SameLine(0, ui_.px(7));
      ImGui::SetCursorPosY(top + std::floor(ui_.px(6)));
      fittedLabel(ui_, color, displayText(shown_->noise, 200),
                  std::max(1.F, ImGui::GetContentRegionAvail().x - ui_.px(14)));
    }
    ImGui::SetCursorPosY(top - std::floor(ui_.px(6)) + std::floor(ui_.px(kCurvesToolsPoints)));
    hairline(ui_);
  }

  const CurvesMeasure& measure() const { return kCurvesMeasures[y_]; }

  ImU32 colorOf(std::size_t line) const {
    // Kinds whose colours are far from each other; with more lines they return.
    constexpr KindGroup kOrder[] = {KindGroup::kConvolution, KindGroup::kReorder,   KindGroup::kPooling,
                                    KindGroup::kLinear,      KindGroup::kAttention, KindGroup::kNormalization};
    return ui_.theme.kind(kOrder[line % std::size(kOrder)]);
  }

  ImVec2 pixelOf(std::size_t point, const ChartScale& x, const ChartScale& y) const {
    const CurvePoint& p = shown_->points[point];
    const auto place = std::find(places_.begin(), places_.end(), placeText(p, x_)) - places_.begin();
    return {x.at(static_cast<double>(place)), y.at(measure().value(p))};
  }

  void drawChart(const StudioSnapshot& snapshot, Commands& commands) {
    const ImVec2 window = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
    const float left = window.x + ui_.px(kCurvesSidePoints);
    const float right = window.x + size.x - ui_.px(kCurvesEndPoints);
    const float top = window.y + ui_.px(30) + drawLegend(left, right, window.y + ui_.px(26));
    const float bottom = window.y + size.y - ui_.px(42);
    if (bottom < top + ui_.px(30) || right < left + ui_.px(60)) return;
    double most = 0;
    for (const CurvePoint& point : shown_->points) most = std::max(most, measure().value(point));
    const double last = std::max(1.0, static_cast<double>(places_.size()) - 1);
    const ChartScale x{-0.25, last + 0.25, left, right, false};
    const ChartScale y{0, most > 0 ? most * 1.12 : 1, bottom, top, false};
    drawAxisY(ui_, y, left, right, tickText);
    drawPlaces(x, top, bottom);
    chartText(ui_, {left, window.y + ui_.px(8)}, ui_.theme.text, measure().axis);
    chartText(ui_, {right, bottom + ui_.px(22)}, ui_.theme.dim,
              x_ == CurvesX::kBatch ? "samples in a request" : "instances × threads", 1);
    for (std::size_t l = 0; l < lines_.size(); ++l) drawLine(lines_[l], colorOf(l), x, y);
    drawBest(x, y);
    drawHovered(snapshot, commands, x, y);
  }

  // Names of the lines in rows; returns their height.
  float drawLegend(float left, float right, float top) const {
    ImDrawList* list = ImGui::GetWindowDrawList();
    ImFont* const font = ui_.fonts.head;
    float at = left, down = 0;
    for (std::size_t l = 0; l < lines_.size(); ++l) {
      const float width = font->CalcTextSizeA(font->FontSize, 1e6F, 0, lines_[l].name.c_str()).x + ui_.px(34);
      if (at > left && at + width > right) {
        at = left;
        down += std::floor(ui_.px(18));
      }
      const float middle = top + down + font->FontSize / 2;
      list->AddLine({at, middle}, {at + ui_.px(14), middle}, colorOf(l), 2 * ui_.scale);
      chartText(ui_, {at + ui_.px(19), top + down}, ui_.theme.dim, lines_[l].name);
      at += width;
    }
    return down + ui_.px(kCurvesLegendPoints);
  }

  void drawPlaces(const ChartScale& x, float top, float bottom) const {
    ImDrawList* list = ImGui::GetWindowDrawList();
    for (std::size_t p = 0; p < places_.size(); ++p) {
      const float at = std::floor(x.at(static_cast<double>(p)));
      list->AddLine({at, top}, {at, bottom}, withAlpha(ui_.theme.line, 0.6F));
      chartText(ui_, {at, bottom + ui_.px(4)}, ui_.theme.dim, places_[p], 0.5F);
    }
    list->AddLine({x.begin, bottom}, {x.end, bottom}, ui_.theme.line);
  }

  void drawLine(const CurvesLine& line, ImU32 color, const ChartScale& x, const ChartScale& y) const {
    ImDrawList* list = ImGui::GetWindowDrawList();
    std::optional<ImVec2> before;
    for (const std::size_t p : line.points) {
      const CurvePoint& point = shown_->points[p];
      if (!point.measured()) continue;
      const ImVec2 at = pixelOf(p, x, y);
      if (before) list->AddLine(*before, at, color, 2 * ui_.scale);
      if (point.accurate) list->AddCircleFilled(at, ui_.px(3.5F), color, 16);
      if (!point.accurate) list->AddCircle(at, ui_.px(3.5F), ui_.theme.bad, 16, 1.5F * ui_.scale);
      before = at;
    }
  }

  void ring(std::size_t point, const char* text, const ChartScale& x, const ChartScale& y) const {
    const ImVec2 at = pixelOf(point, x, y);
    ImGui::GetWindowDrawList()->AddCircle(at, ui_.px(8), ui_.theme.accent, 24, 2 * ui_.scale);
    const bool at_right = at.x > (x.begin + x.end) / 2;
    ImFont* const font = ui_.fonts.head;
    const float width = font->CalcTextSizeA(font->FontSize, 1e6F, 0, text).x;
    const ImVec2 corner = {at_right ? at.x - ui_.px(12) - width : at.x + ui_.px(12), at.y - ui_.px(20)};
    // Lines behind a name would strike it through.
    ImGui::GetWindowDrawList()->AddRectFilled({corner.x - ui_.px(3), corner.y},
                                              {corner.x + width + ui_.px(3), corner.y + font->FontSize + ui_.px(1)},
                                              withAlpha(ui_.theme.panel, 0.85F), ui_.px(3));
    chartText(ui_, corner, ui_.theme.text, text);
  }

  void drawBest(const ChartScale& x, const ChartScale& y) const {
    const bool both = choice_.latency == choice_.throughput;
    if (choice_.throughput) ring(*choice_.throughput, both ? "most samples/s, least latency" : "most samples/s", x, y);
    if (choice_.latency && !both) ring(*choice_.latency, "least latency", x, y);
    if (marked_ < 0) return;
    const ImVec2 at = pixelOf(static_cast<std::size_t>(marked_), x, y);
    ImGui::GetWindowDrawList()->AddCircleFilled(at, ui_.px(5.5F), ui_.theme.text, 20);
  }

  void drawHovered(const StudioSnapshot&, Commands&, const ChartScale& x, const ChartScale& y) {
    if (!ImGui::IsWindowHovered()) return;
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    float nearest = ui_.px(14);
    int under = -1;
    for (std::size_t p = 0; p < shown_->points.size(); ++p) {
      if (!shown_->points[p].measured()) continue;
      const ImVec2 at = pixelOf(p, x, y);
      const float distance = std::hypot(at.x - mouse.x, at.y - mouse.y);
      if (distance >= nearest) continue;
      nearest = distance;
      under = static_cast<int>(p);
    }
    if (under < 0) return;
    const auto point = static_cast<std::size_t>(under);
    ImGui::GetWindowDrawList()->AddCircle(pixelOf(point, x, y), ui_.px(6), ui_.theme.text, 20, 1.5F * ui_.scale);
    tooltip(figures(shown_->points[point]) + "\nClick to choose it.");
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) marked_ = under;
  }

  static std::string figures(const CurvePoint& point) {
    std::string text =
        pointText(point) + fmt::format("\np50 {}, p99 {} of {} requests\n{:.4g} requests/s, {:.4g} samples/s",
                                       formatTime(point.p50_ns), formatTime(point.p99_ns), point.requests,
                                       requestsPerSecond(point), samplesPerSecond(point));
    if (point.memory_bytes > 0) text += fmt::format("\n{:.0f} MB", whole(point.memory_bytes) / 1e6);
    text += point.accurate ? "\nresults right, " + accuracyText(point.sqnr_db) : "\nresults wrong";
    if (point.noise == "busy" || point.noise == "throttled") text += "\nmeasured while " + point.noise;
    return text;
  }

  // The sentence, the best points and the chosen one, each with its button, and what was left out.
  void drawList(const StudioSnapshot& snapshot, Commands& commands) const {
    const std::string sentence = curvesSentence(*shown_);
    if (!sentence.empty()) paragraph(ui_.theme.text, sentence);
    if (marked_ >= 0) drawPoint("Chosen", static_cast<std::size_t>(marked_), snapshot, commands);
    if (choice_.throughput) drawPoint("Most samples per second", *choice_.throughput, snapshot, commands);
    if (choice_.latency) drawPoint("Least time of a request", *choice_.latency, snapshot, commands);
    ImGui::Dummy({1, ui_.px(4)});
    for (const std::string& note : shown_->notes) paragraph(ui_.theme.dim, displayText(note, 400));
  }

  void drawPoint(const char* head, std::size_t index, const StudioSnapshot& snapshot, Commands& commands) const {
    const CurvePoint& point = shown_->points[index];
    ImGui::Dummy({1, ui_.px(4)});
    const float top = ImGui::GetCursorPosY();
    const float right = ImGui::GetCursorPosX() + ImGui::GetContentRegionAvail().x;
    label(ui_.theme.dim, head, ui_.fonts.head);
    const float room = right - ImGui::GetCursorPosX() - buttonSize(ui_, "Use this").x - ui_.px(10);
    fittedLabel(ui_, ui_.theme.text, pointText(point), room);
    fittedLabel(ui_, ui_.theme.dim,
                fmt::format("{}, {:.3g} samples/s, {:.0f} MB", formatTime(point.p50_ns), samplesPerSecond(point),
                            whole(point.memory_bytes) / 1e6),
                room);
    const float bottom = ImGui::GetCursorPosY();
    ImGui::SetCursorPos({right - buttonSize(ui_, "Use this").x, top + std::floor(ui_.px(10))});
    ImGui::PushID(head);
    if (button(ui_, "use", "Use this", ButtonLook::kPlain, whyNotStart(snapshot)))
      commands.post(UsePointCommand{point});
    if (whyNotStart(snapshot).empty() && ImGui::IsItemHovered())
      tooltip("The next run has these threads, instances, batch size and precision.");
    ImGui::PopID();
    ImGui::SetCursorPosY(bottom);
  }

  const Ui& ui_;
  std::shared_ptr<const CurvesRecord> shown_;
  CurveChoice choice_;
  std::vector<CurvesLine> lines_;
  std::vector<std::string> places_;  // texts at the x axis
  CurvesX x_ = CurvesX::kBatch;
  std::size_t y_ = 3;  // index into kCurvesMeasures
  int marked_ = -1;    // index of the point that was chosen; -1: none
};

void fillCurves(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"precision",      "batch",         "threads",   "instances", "requests", "p50_ms", "p99_ms",
                    "requests_per_s", "samples_per_s", "memory_mb", "sqnr_db",   "accurate", "noise",  "best"};
  if (!snapshot.work.curves) return;
  const CurvesRecord& curves = *snapshot.work.curves;
  for (std::size_t p = 0; p < curves.points.size(); ++p) {
    const CurvePoint& point = curves.points[p];
    table->rows.push_back({point.precision, whole(point.batch), whole(point.threads), whole(point.instances),
                           whole(point.requests), orUnknown(ms(point.p50_ns)), orUnknown(ms(point.p99_ns)),
                           orUnknown(requestsPerSecond(point)), orUnknown(samplesPerSecond(point)),
                           orUnknown(whole(point.memory_bytes) / 1e6), point.sqnr_db,
                           std::string(point.accurate ? "yes" : "no"), point.noise, curveMarks(curves, 0, p)});
  }
}

std::vector<ActionGroup> curvesActions() {
  return {{695,
           {{"curves.measure", "Curves: measure threads, instances, batch sizes and precisions", "Shift+V"},
            {"curves.next", "Curves: choose the next point", "Shift+K"},
            {"curves.use", "Curves: take the chosen point, or the best, for the next run", "Shift+E"},
            {"curves.axis", "Curves: by batch or by cores", ""},
            {"curves.measure-of", "Curves: show the next measure", ""}}}};
}

}  // namespace

extern const PanelEntry kCurvesPanel;
const PanelEntry kCurvesPanel{
    "curves",   [](const Ui& ui) -> std::unique_ptr<Panel> { return std::make_unique<CurvesPanel>(ui); },
    fillCurves, "Curves: threads, instances, batch sizes and precisions",
    "Shift+U",  curvesActions()};

}  // namespace ipex_studio
