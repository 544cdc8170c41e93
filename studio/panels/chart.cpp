// See chart.h.
#include "studio/panels/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ipex_studio {

float ChartScale::at(double value) const {
  if (logarithmic) {
    const double range = std::log(high / low);
    const double share = range > 0 ? std::log(std::max(value, low * 1e-6) / low) / range : 0;
    return begin + static_cast<float>(share) * (end - begin);
  }
  return begin + static_cast<float>(high > low ? (value - low) / (high - low) : 0) * (end - begin);
}

double ChartScale::value(float pixel) const {
  const double share = end != begin ? static_cast<double>((pixel - begin) / (end - begin)) : 0;
  return logarithmic ? low * std::pow(high / low, share) : low + share * (high - low);
}

double niceStep(double range, double ticks) {
  const double rough = std::max(range, 1e-12) / std::max(ticks, 1.0);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double lead = rough / power;
  return power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10);
}

std::vector<double> ticksOf(const ChartScale& scale, double ticks) {
  std::vector<double> values;
  if (scale.logarithmic) {
    const double decades = std::log10(scale.high / scale.low);
    for (double power = std::pow(10.0, std::floor(std::log10(scale.low))); power <= scale.high; power *= 10) {
      for (const double lead : {1.0, 2.0, 5.0}) {
        const double value = power * lead;
        if ((lead > 1 && decades > ticks / 3) || value < scale.low * 0.999 || value > scale.high * 1.001) continue;
        values.push_back(value);
      }
    }
    return values;
  }
  const double step = niceStep(scale.high - scale.low, ticks);
  const double first = std::ceil(scale.low / step - 1e-9);
  for (int i = 0; i < 64; ++i) {
    const double value = (first + i) * step;
    if (value > scale.high + step * 1e-6) break;
    values.push_back(value == 0 ? 0 : value);
  }
  return values;
}

std::string tickText(double value) {
  if (std::abs(value) >= 1e6) return fmt::format("{:.3g} M", value / 1e6);
  return fmt::format("{:.6g}", value);
}

void chartText(const Ui& ui, ImVec2 at, ImU32 color, const std::string& text, float align, ImFont* font) {
  if (font == nullptr) font = ui.fonts.head;
  const float width = font->CalcTextSizeA(font->FontSize, 1e6F, 0, text.data(), text.data() + text.size()).x;
  ImGui::GetWindowDrawList()->AddText(font, font->FontSize, {std::floor(at.x - width * align), std::floor(at.y)}, color,
                                      text.data(), text.data() + text.size());
}

void drawAxisX(const Ui& ui, const ChartScale& x, float top, float bottom,
               const std::function<std::string(double)>& text) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  ImFont* font = ui.fonts.head;
  const float window_end = ImGui::GetWindowPos().x + ImGui::GetWindowWidth();
  float taken = -1e30F;
  for (const double tick : ticksOf(x, std::abs(x.end - x.begin) / ui.px(90))) {
    const float at = std::floor(x.at(tick));
    list->AddLine({at, top}, {at, bottom}, withAlpha(ui.theme.line, 0.6F));
    // A label that would touch its neighbour or leave the window is left out, but not its line.
    const std::string words = text(tick);
    const float half = font->CalcTextSizeA(font->FontSize, 1e6F, 0, words.data(), words.data() + words.size()).x / 2;
    if (at - half < taken + ui.px(8) || at + half > window_end - ui.px(3)) continue;
    chartText(ui, {at, bottom + ui.px(4)}, ui.theme.dim, words, 0.5F);
    taken = at + half;
  }
}

void drawAxisY(const Ui& ui, const ChartScale& y, float left, float right,
               const std::function<std::string(double)>& text) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (const double tick : ticksOf(y, std::abs(y.end - y.begin) / ui.px(34))) {
    const float at = std::floor(y.at(tick));
    list->AddLine({left, at}, {right, at}, withAlpha(ui.theme.line, 0.6F));
    chartText(ui, {left - ui.px(7), at - ui.fonts.head->FontSize / 2}, ui.theme.dim, text(tick), 1);
  }
}

void drawChartBesideList(const Ui& ui, const ListBeside& beside, const std::function<void()>& draw_chart,
                         const std::function<void()>& draw_list) {
  const float width = ImGui::GetWindowWidth();
  const bool with_list = width > ui.px(beside.points + beside.chart_points);
  const float chart_width = with_list ? width - ui.px(beside.points) : width;
  const float top = ImGui::GetCursorPosY();
  if (beginArea(ui, "chart", {chart_width, 0}, ui.theme.panel, {0, 0}, ImGuiWindowFlags_NoScrollWithMouse))
    draw_chart();
  endArea();
  if (!with_list) return;
  ImGui::SetCursorPos({chart_width, top});
  if (beginArea(ui, beside.id, {0, 0}, ui.theme.panel, beside.padding)) draw_list();
  endArea();
}

void keyValue(const Ui& ui, const std::string& key, const std::string& text, float key_points, float width,
              ImU32 color) {
  const float left = ImGui::GetCursorPosX();
  fittedLabel(ui, ui.theme.dim, key, ui.px(key_points - 8));
  ImGui::SameLine(left + ui.px(key_points), 0);
  fittedLabel(ui, color, text, width - ui.px(key_points));
}

}  // namespace ipex_studio
