// See pareto_plot.h.
#include "studio/panels/pareto_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "studio/snapshot/snapshot_precision.h"

namespace ipex_studio {
namespace {

constexpr float kPlotLeft = 54;
constexpr double kMaxDecibels = 150;  // largest value drawn; that of equal results is 999

double decibels(double db) { return std::min(db, kMaxDecibels); }

void markFront(std::vector<ParetoPoint>* points) {
  for (ParetoPoint& point : *points) {
    point.front = std::none_of(points->begin(), points->end(), [&](const ParetoPoint& other) {
      const bool no_worse = other.ms <= point.ms && other.quality >= point.quality;
      return no_worse && (other.ms < point.ms || other.quality > point.quality);
    });
  }
}

}  // namespace

std::vector<ParetoPoint> paretoPoints(const StudioSnapshot& snapshot, std::string* quality) {
  std::vector<ParetoPoint> points;
  const auto& tradeoffs = snapshot.job->tradeoffs;
  const bool by_metric =
      std::any_of(tradeoffs.begin(), tradeoffs.end(), [](const TradeoffRecord& t) { return t.metric != 0; });
  *quality = by_metric ? "metric" : "SQNR dB";
  for (std::size_t t = 0; t < tradeoffs.size(); ++t) {
    const TradeoffRecord& tried = tradeoffs[t];
    points.push_back({displayText(tried.name, 60), static_cast<double>(tried.elapsed_ns) / 1e6,
                      by_metric ? tried.metric : decibels(tried.sqnr_db), tried.on_front, tried.chosen,
                      overridesOf(snapshot, t)});
  }
  // A search that still runs has not marked the front.
  if (std::none_of(points.begin(), points.end(), [](const ParetoPoint& point) { return point.front; }))
    markFront(&points);
  if (!points.empty() && by_metric) return points;
  const RunIndex& run = snapshot.index->optimized;
  const auto& tries = *snapshot.tries;
  if (points.empty() && tries.empty() && run.run != nullptr && run.latency.p50_ns > 0)
    points.push_back({displayText(run.run->precision, 12), run.latency.p50_ns / 1e6,
                      decibels(run.run->accuracy.sqnr_db), true, true, std::nullopt});
  if (points.empty() && !tries.empty())
    points.push_back(
        {"before decisions", tries[0].before_ns / 1e6, decibels(tries[0].before_db), false, false, Overrides()});
  for (std::size_t t = 0; t < tries.size(); ++t) {
    points.push_back({fmt::format("try {}", t + 1), tries[t].after_ns / 1e6, decibels(tries[t].after_db), false,
                      t + 1 == tries.size(), tries[t].tried});
  }
  if (tradeoffs.empty()) markFront(&points);
  return points;
}

void ParetoPlot::draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) {
  std::string quality;
  points_ = paretoPoints(snapshot, &quality);
  act(snapshot, selection, commands);
  drawLoaded(snapshot, selection, commands);
  const ImVec2 window = ImGui::GetWindowPos();
  const ImVec2 size = ImGui::GetWindowSize();
  const float left = window.x + ui_.px(kPlotLeft);
  const float right = window.x + size.x - ui_.px(18);
  const float top = window.y + ui_.px(96);
  const float bottom = window.y + size.y - ui_.px(40);
  if (points_.empty() || bottom < top + ui_.px(40)) return;
  double low_x = 1e300, high_x = 0, low_y = 1e300, high_y = -1e300;
  for (const ParetoPoint& point : points_) {
    low_x = std::min(low_x, point.ms);
    high_x = std::max(high_x, point.ms);
    low_y = std::min(low_y, point.quality);
    high_y = std::max(high_y, point.quality);
  }
  const double margin_x = high_x > low_x ? (high_x - low_x) * 0.18 : high_x * 0.1 + 1e-6;
  const double margin_y = high_y > low_y ? (high_y - low_y) * 0.18 : std::abs(high_y) * 0.1 + 1e-6;
  const ChartScale x{std::max(0.0, low_x - margin_x), high_x + margin_x, left, right, false};
  const ChartScale y{low_y - margin_y, high_y + margin_y, bottom, top, false};
  drawAxisX(ui_, x, top, bottom, [](double ms) { return fmt::format("{:.4g}", ms); });
  drawAxisY(ui_, y, left, right, [](double value) { return fmt::format("{:.4g}", value); });
  chartText(ui_, {left, top - ui_.px(19)}, ui_.theme.dim, quality + ", more is better");
  chartText(ui_, {right, bottom + ui_.px(21)}, ui_.theme.dim, "ms, less is better", 1);
  drawPoints(snapshot, x, y, commands);
}

// Carries out requested actions.
void ParetoPlot::act(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) {
  const auto count = static_cast<int>(points_.size());
  if (marked_ >= count) marked_ = -1;
  if (selection.take("point.next") && count > 0) marked_ = (marked_ + 1) % count;
  if (!selection.take("point.load") || marked_ < 0 || !snapshot.overrides.possible) return;
  const auto& decisions = points_[static_cast<std::size_t>(marked_)].decisions;
  if (decisions) commands.post(OverrideCommand{*decisions, false});
}

// Draws the point whose decisions are in force, and the actions on it.
void ParetoPlot::drawLoaded(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) {
  ImGui::SetCursorPos({ui_.px(14), ui_.px(54)});
  const Overrides& now = snapshot.overrides.now;
  const auto point = std::find_if(points_.begin(), points_.end(), [&](const ParetoPoint& p) {
    return !now.empty() && p.decisions && *p.decisions == now;
  });
  if (point == points_.end() || !snapshot.overrides.possible) {
    const bool any =
        std::any_of(points_.begin(), points_.end(), [](const ParetoPoint& p) { return p.decisions.has_value(); });
    if (any && snapshot.overrides.possible && points_.size() > 1)
      fittedLabel(ui_, ui_.theme.dim, "Click a point to take its precisions over.",
                  ImGui::GetContentRegionAvail().x - ui_.px(8));
    return;
  }
  fittedLabel(ui_, ui_.theme.text, point->name,
              std::min(ImGui::CalcTextSize(point->name.c_str()).x + 1, ImGui::GetContentRegionAvail().x - ui_.px(150)));
  ImGui::SameLine(0, ui_.px(12));
  if (link(ui_, "measure", "Measure it")) commands.post(OverrideCommand{now, true});
  ImGui::SameLine(0, ui_.px(12));
  if (link(ui_, "export", "Export…")) selection.request("run.export");
}

void ParetoPlot::drawPoints(const StudioSnapshot& snapshot, const ChartScale& x, const ChartScale& y,
                            Commands& commands) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  std::vector<ImVec2> front;
  for (const ParetoPoint& point : points_) {
    if (point.front) front.push_back({x.at(point.ms), y.at(point.quality)});
  }
  std::sort(front.begin(), front.end(), [](ImVec2 a, ImVec2 b) { return a.x < b.x; });
  for (std::size_t f = 1; f < front.size(); ++f)
    list->AddLine(front[f - 1], front[f], withAlpha(ui_.theme.accent, 0.5F), 1.5F * ui_.scale);
  const ParetoPoint* under_mouse = nullptr;
  for (const ParetoPoint& point : points_) {
    const ImVec2 at = {x.at(point.ms), y.at(point.quality)};
    const bool under = ImGui::IsWindowHovered() && std::hypot(at.x - mouse.x, at.y - mouse.y) <= ui_.px(9);
    if (under) under_mouse = &point;
    const bool hovered = under || &point - points_.data() == marked_;
    const bool loaded =
        !snapshot.overrides.now.empty() && point.decisions && *point.decisions == snapshot.overrides.now;
    const ImU32 color = point.front || point.chosen || loaded || hovered ? ui_.theme.accent : ui_.theme.dim;
    list->AddCircleFilled(at, ui_.px(point.chosen || hovered ? 5 : 3.5F), color, 16);
    if (point.chosen || loaded) list->AddCircle(at, ui_.px(8), ui_.theme.accent, 20, 1.5F * ui_.scale);
    // The ends and the chosen point have their names beside them, the others in a tooltip.
    const bool named = points_.size() <= 4 || point.chosen || loaded || hovered || &point == &points_.front() ||
                       &point == &points_.back();
    if (!named) continue;
    const bool at_right = at.x > (x.begin + x.end) / 2;
    chartText(ui_, {at.x + ui_.px(at_right ? 4 : 11), at.y + ui_.px(at_right ? 8 : -7)}, ui_.theme.text, point.name,
              at_right ? 1 : 0);
  }
  if (under_mouse == nullptr) return;
  const bool loads = under_mouse->decisions && snapshot.overrides.possible;
  tooltip(fmt::format("{}\n{}\n{:.4g}{}{}", under_mouse->name, formatTime(under_mouse->ms * 1e6), under_mouse->quality,
                      under_mouse->front ? "\nnothing else is both faster and better" : "",
                      loads ? "\nClick to take its precisions over." : ""));
  if (!loads) return;
  ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  if (!ImGui::IsMouseClicked(ImGuiMouseButton_Left)) return;
  commands.post(OverrideCommand{*under_mouse->decisions, false});
}

}  // namespace ipex_studio
