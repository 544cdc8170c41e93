#include "studio/panels/training/memory_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "profiler/training_table.h"
#include "studio/panels/chart.h"
#include "studio/panels/table_cells.h"

namespace ipex_studio {
namespace {

constexpr float kStepMemorySidePoints = 72;

// Fills what lies between two stepped lines, from row to row.
template <class Low, class High>
void fillBetween(const std::vector<TrainingMemory>& rows, const ChartScale& x, const ChartScale& y, ImU32 color,
                 const Low& low, const High& high) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  float from = x.begin;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const float to = r + 1 < rows.size() ? x.at(whole(rows[r + 1].at_ns)) : x.end;
    const float at = std::max(from, x.at(whole(rows[r].at_ns)));
    from = std::max(to, at);
    if (to <= at) continue;
    list->AddRectFilled({at, y.at(high(rows[r]))}, {to, y.at(low(rows[r]))}, color);
  }
}

}  // namespace

void TrainingMemoryView::show(std::vector<TrainingMemory> rows) {
  rows_ = std::move(rows);
  most_bytes_ = backward_ns_ = 0;
  for (const TrainingMemory& row : rows_) {
    most_bytes_ = std::max(most_bytes_, whole(std::max(row.peak_bytes, row.activation_bytes + row.gradient_bytes)));
    if (row.phase == "forward") backward_ns_ = whole(row.at_ns);
  }
}

const TrainingMemory& TrainingMemoryView::rowAt(double ns) const {
  const auto behind = std::upper_bound(rows_.begin(), rows_.end(), ns,
                                       [](double at, const TrainingMemory& row) { return at < whole(row.at_ns); });
  return behind == rows_.begin() ? rows_.front() : *(behind - 1);
}

// Names the two colours, from the right end on.
void TrainingMemoryView::drawLegend(ImVec2 end) const {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const std::array<std::pair<KindGroup, const char*>, 2> parts = {
      {{KindGroup::kLinear, "gradients"}, {KindGroup::kConvolution, "activations"}}};
  for (const auto& [group, name] : parts) {
    chartText(ui_, end, ui_.theme.dim, name, 1);
    const float side = std::floor(ui_.px(9)), height = ui_.fonts.head->FontSize;
    end.x -= ui_.fonts.head->CalcTextSizeA(height, 1e6F, 0, name).x + side + ui_.px(6);
    const float top = std::floor(end.y + (height - side) / 2);
    list->AddRectFilled({std::floor(end.x), top}, {std::floor(end.x) + side, top + side}, ui_.theme.kind(group),
                        ui_.px(1.5F));
    end.x -= ui_.px(16);
  }
}

void TrainingMemoryView::draw() const {
  const ImVec2 window = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
  const float left = window.x + ui_.px(kStepMemorySidePoints);
  const float right = std::max(left + 20, window.x + size.x - ui_.px(16));
  const float top = window.y + ui_.px(30), bottom = std::max(top + 20, window.y + size.y - ui_.px(24));
  const ChartScale x{0, std::max(1.0, whole(rows_.back().at_ns)), left, right, false};
  const ChartScale y{0, std::max(1.0, most_bytes_) * 1.05, bottom, top, false};
  const TrainingMemory* const peak = peakOf(rows_);
  chartText(
      ui_, {left, window.y + ui_.px(8)}, ui_.theme.dim,
      fmt::format("Tensors of step {}: at most {}, in {}{}", rows_.front().step, formatBytes(peak->peak_bytes),
                  displayText(peak->phase, 20), peak->layer.empty() ? "" : " of " + displayText(peak->layer, 60)));
  drawLegend({right, window.y + ui_.px(8)});
  drawAxisX(ui_, x, top, bottom, [](double ns) { return fmt::format("{:.6g} ms", ns / 1e6); });
  const bool small = most_bytes_ < 2e6;
  drawAxisY(ui_, y, left, right, [small](double bytes) {
    return small ? fmt::format("{:.6g} kB", bytes / 1e3) : fmt::format("{:.6g} MB", bytes / 1e6);
  });
  const auto gradients = [](const TrainingMemory& row) { return whole(row.gradient_bytes); };
  const auto both = [](const TrainingMemory& row) {
    return whole(std::max<std::int64_t>(0, row.activation_bytes)) + whole(row.gradient_bytes);
  };
  fillBetween(rows_, x, y, withAlpha(ui_.theme.kind(KindGroup::kConvolution), 0.75F), gradients, both);
  fillBetween(
      rows_, x, y, withAlpha(ui_.theme.kind(KindGroup::kLinear), 0.85F), [](const TrainingMemory&) { return 0.0; },
      gradients);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float middle = std::floor(x.at(backward_ns_));
  list->AddLine({middle, top}, {middle, bottom}, withAlpha(ui_.theme.text, 0.35F));
  chartText(ui_, {middle - ui_.px(6), top + ui_.px(2)}, ui_.theme.dim, "forward", 1);
  chartText(ui_, {middle + ui_.px(6), top + ui_.px(2)}, ui_.theme.dim, "backward");
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (!ImGui::IsWindowHovered() || mouse.x < left || mouse.x > right || mouse.y < top || mouse.y > bottom) return;
  const TrainingMemory& row = rowAt(x.value(mouse.x));
  list->AddLine({mouse.x, top}, {mouse.x, bottom}, ui_.theme.text);
  tooltip(fmt::format("{} of {}\nactivations {}, gradients {}\nat most {} since the operation before",
                      displayText(row.phase, 20), row.layer.empty() ? "the loss" : displayText(row.layer, 80),
                      formatBytes(row.activation_bytes), formatBytes(row.gradient_bytes), formatBytes(row.peak_bytes)));
}

}  // namespace ipex_studio
