// Bottom tab: one run as it is above one optimized run, operation after operation on one time axis.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "studio/graph_canvas.h"
#include "studio/panels/panel_list.h"

namespace ipex_studio {
namespace {

constexpr float kAxisPoints = 26;
constexpr float kTrackPoints = 62;
constexpr float kNamePoints = 110;

// 1, 2 or 5 times a power of ten, so that about `ticks` fit into `range`.
double niceStep(double range, double ticks) {
  const double rough = range / std::max(ticks, 1.0);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double lead = rough / power;
  return power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10);
}

// "layer1.0.conv3 + add" as "conv3 + add".
std::string shortName(const std::string& name) {
  std::size_t dot = name.rfind('.', name.find(' '));
  // A bare number says nothing: "downsample.0".
  const bool number = dot != std::string::npos && dot + 1 < name.size() && name[dot + 1] >= '0' && name[dot + 1] <= '9';
  if (number && dot > 0) dot = name.rfind('.', dot - 1);
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

class TimelinePanel : public Panel {
 public:
  explicit TimelinePanel(const Ui& ui) : ui_(ui) {}
  const char* name() const override { return "timeline"; }
  const char* title() const override { return "Timeline"; }
  PanelPlace place() const override { return PanelPlace::kBottomTab; }

  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) override {
    const RunIndex& baseline = snapshot.index->baseline;
    const RunIndex& optimized = snapshot.index->optimized;
    const double end_ns =
        std::max({baseline.latency.p50_ns, baseline.steps_ns, optimized.latency.p50_ns, optimized.steps_ns});
    if (end_ns <= 0) {
      emptyState(ui_, "Nothing was measured yet", "Press Optimize: the two runs are drawn here on one time axis.");
      return;
    }
    if (beginArea(ui_, "tracks", {0, 0}, ui_.theme.panel, {0, 0})) {
      const float width = ImGui::GetWindowWidth() - ui_.px(kNamePoints + 20);
      const double pixels_per_ns = std::max(width, 50.F) / end_ns;
      drawAxis(end_ns, pixels_per_ns);
      if (!baseline.rows.empty()) drawTrack("as it is", baseline, pixels_per_ns, selection);
      if (!optimized.rows.empty()) drawTrack("optimized", optimized, pixels_per_ns, selection);
      ImGui::SetCursorPos({ui_.px(13), ImGui::GetCursorPosY() + ui_.px(8)});
      label(ui_.theme.dim,
            "Median time of each operation in order of execution; what is left to the measured end is unattributed.");
    }
    endArea();
  }

 private:
  void drawAxis(double end_ns, double pixels_per_ns) const {
    const ImVec2 at = ImGui::GetWindowPos();
    const float left = at.x + ui_.px(kNamePoints);
    const double step = niceStep(end_ns, 10);
    ImDrawList* list = ImGui::GetWindowDrawList();
    for (int tick = 0; tick * step <= end_ns && tick < 40; ++tick) {
      const float x = std::floor(left + static_cast<float>(tick * step * pixels_per_ns));
      const std::string text = fmt::format("{:g} ms", tick * step / 1e6);
      list->AddLine({x, at.y + ui_.px(kAxisPoints - 4)}, {x, at.y + ui_.px(kAxisPoints + 2 * kTrackPoints + 4)},
                    withAlpha(ui_.theme.line, 0.7F));
      list->AddText(ui_.fonts.text, ui_.fonts.text->FontSize, {x + ui_.px(4), at.y + ui_.px(4)}, ui_.theme.dim,
                    text.data(), text.data() + text.size());
    }
    ImGui::SetCursorPosY(ui_.px(kAxisPoints));
  }

  void drawTrack(const std::string& name, const RunIndex& run, double pixels_per_ns, Selection& selection) const {
    const float top = ImGui::GetCursorPosY();
    ImGui::SetCursorPos({ui_.px(13), top + ui_.px(10)});
    label(ui_.theme.text, name);
    ImGui::SetCursorPosX(ui_.px(13));
    label(ui_.theme.dim, formatTime(run.latency.p50_ns, 1));
    const float left = ui_.px(kNamePoints);
    ImGui::SetCursorPos({left, top});
    ImGui::PushID(name.c_str());
    const bool clicked =
        ImGui::InvisibleButton("track", {std::max(ImGui::GetWindowWidth() - left, 1.F), ui_.px(kTrackPoints)});
    ImGui::PopID();
    const bool hovered = ImGui::IsItemHovered();
    const ImVec2 low = ImGui::GetItemRectMin();
    const float mouse = ImGui::GetIO().MousePos.x;
    ImDrawList* list = ImGui::GetWindowDrawList();
    const float bar_top = low.y + ui_.px(8);
    const float bar_bottom = low.y + ui_.px(kTrackPoints - 8);
    double begin_ns = 0;
    float drawn_to = low.x - 1;
    const OperationRow* under = nullptr;
    for (const OperationRow& row : run.rows) {
      const float x0 = low.x + static_cast<float>(begin_ns * pixels_per_ns);
      begin_ns += row.time.p50_ns;
      const float x1 = low.x + static_cast<float>(begin_ns * pixels_per_ns);
      if (hovered && mouse >= x0 && mouse < x1) under = &row;
      // What is narrower than a pixel is drawn once per pixel.
      if (x1 < drawn_to + 0.75F) continue;
      drawn_to = x1;
      const bool selected = !selection.empty() && selection.overlaps(row.origins);
      const ImU32 color = ui_.theme.kind(row.group);
      const float right = std::max(x0 + 0.75F, x1 - (x1 - x0 > 3 ? 1.F : 0.F));
      list->AddRectFilled({x0, bar_top}, {right, bar_bottom},
                          selected || under == &row ? color : withAlpha(color, 0.62F), 1);
      if (selected) list->AddRect({x0, bar_top - 2}, {right, bar_bottom + 2}, ui_.theme.text, 1);
      if (x1 - x0 > ui_.px(40)) {
        drawFittedText(list, ui_.fonts.small_mono, ui_.fonts.small_mono->FontSize,
                       {x0 + ui_.px(5), (bar_top + bar_bottom) / 2 - ui_.px(7)}, x1 - x0 - ui_.px(8), ui_.theme.text,
                       shortName(row.name));
      }
    }
    const float end = low.x + static_cast<float>(run.latency.p50_ns * pixels_per_ns);
    list->AddLine({end, bar_top - ui_.px(3)}, {end, bar_bottom + ui_.px(3)}, ui_.theme.text, ui_.scale);
    if (under == nullptr) return;
    tooltip(fmt::format("{}\n{} · {}\n{} ({:.1f} %)", under->name, under->kind, under->kernel,
                        formatSpread(under->time), under->share * 100));
    if (clicked) selection.select(under->origins, true);
  }

  const Ui& ui_;
};

}  // namespace

std::unique_ptr<Panel> makeTimelinePanel(const Ui& ui) { return std::make_unique<TimelinePanel>(ui); }

}  // namespace ipex_studio
