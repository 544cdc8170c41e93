// Bottom tab: from the baseline's time to ours, a bar a cause; what a bar comes from; what to press next.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "profiler/text.h"
#include "profiler/waterfall.h"
#include "studio/panels/data_table.h"
#include "studio/panels/panel.h"
#include "studio/panels/table_cells.h"
#include "studio/snapshot/snapshot_advice.h"
#include "studio/ui/advice_offer.h"

namespace ipex_studio {
namespace {

constexpr float kCauseRowPoints = 21;     // least height of a row
constexpr float kMaxCauseRowPoints = 28;  // where there is room
constexpr float kCausePoints = 176;       // width of the names
constexpr float kChangePoints = 74;       // width of the ms
constexpr float kSpreadPoints = 64;       // width of the ±
constexpr float kDetailPoints = 430;      // width of the right side
constexpr std::size_t kMaxParts = 200;

class WaterfallPanel : public Panel {
 public:
  explicit WaterfallPanel(const Ui& ui) : ui_(ui) {}
  const char* name() const override { return "waterfall"; }
  const char* title() const override { return "Waterfall"; }
  PanelPlace place() const override { return PanelPlace::kBottomTab; }

  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) override {
    const Waterfall& waterfall = snapshot.index->waterfall;
    if (waterfall.bars.empty()) return drawEmpty(snapshot);
    const auto count = static_cast<int>(waterfall.bars.size());
    marked_ = std::min(marked_, count - 1);
    const int next = rowByKey(selection, marked_, count);
    if (next >= 0) choose(waterfall, next, selection);
    const float width = ImGui::GetWindowWidth();
    const bool detailed = width > ui_.px(kDetailPoints + 420);
    const float chart = detailed ? width - ui_.px(kDetailPoints) : width;
    const float top = ImGui::GetCursorPosY();
    if (beginArea(ui_, "bars", {chart, 0}, ui_.theme.panel, {0, 6})) drawBars(waterfall, selection);
    endArea();
    if (!detailed) return;
    ImGui::SetCursorPos({chart, top});
    if (beginArea(ui_, "detail", {0, 0}, ui_.theme.panel, {14, 10})) {
      drawNext(snapshot, selection, commands);
      drawDetail(waterfall, selection);
    }
    endArea();
    const ImVec2 corner = ImGui::GetWindowPos();
    ImGui::GetWindowDrawList()->AddLine({corner.x + chart, corner.y + top},
                                        {corner.x + chart, corner.y + ImGui::GetWindowHeight()}, ui_.theme.line);
  }

 private:
  void drawEmpty(const StudioSnapshot& snapshot) const {
    const JobIndex& index = *snapshot.index;
    if (snapshot.status.state == JobState::kWorking) {
      emptyState(ui_, "Measuring", "Where the time goes is shown here as soon as both versions are timed.");
    } else if (index.baseline.run != nullptr && index.optimized.run != nullptr) {
      emptyState(ui_, "Single operations were not timed",
                 pressOptimize(snapshot) + ": both versions are timed node by node.");
    } else {
      emptyState(ui_, "Nothing was measured yet",
                 pressOptimize(snapshot) + ": what each cause gained is shown here, in ms.");
    }
  }

  void choose(const Waterfall& waterfall, int bar, Selection& selection) {
    marked_ = bar;
    const std::vector<OriginId>& origins = waterfall.bars[static_cast<std::size_t>(bar)].origins;
    if (origins.empty()) {
      selection.clear();
    } else {
      selection.select(origins, true);
    }
  }

  void drawBars(const Waterfall& waterfall, Selection& selection) {
    Axis axis;
    std::tie(axis.low, axis.high) = rangeOf(waterfall);
    axis.high = std::max(axis.high, axis.low + 1);
    axis.begin = ImGui::GetWindowPos().x + ui_.px(13 + kCausePoints);
    axis.end = ImGui::GetWindowPos().x + ImGui::GetWindowWidth() - ui_.px(kChangePoints + kSpreadPoints + 22);
    if (axis.end < axis.begin + ui_.px(20)) axis.end = axis.begin + ui_.px(20);
    const float rows = static_cast<float>(waterfall.bars.size() + 2);
    row_height_ = std::floor(
        std::clamp(ImGui::GetContentRegionAvail().y / rows, ui_.px(kCauseRowPoints), ui_.px(kMaxCauseRowPoints)));
    double at = whole(waterfall.before_ns);
    drawRow(axis, -1, "Before", {0, at}, ui_.theme.faint, msText(at) + " ms", "", false);
    for (std::size_t b = 0; b < waterfall.bars.size(); ++b) {
      const WaterfallBar& bar = waterfall.bars[b];
      const double next = at - whole(bar.gain_ns);
      const bool gained = bar.gain_ns >= 0;
      const bool marked = marked_ == static_cast<int>(b);
      if (drawRow(axis, static_cast<int>(b), causeTitle(bar.cause), {at, next},
                  gained ? ui_.theme.good : ui_.theme.warning, changeText(bar.gain_ns),
                  "± " + msText(bar.half_width_ns), marked))
        choose(waterfall, static_cast<int>(b), selection);
      if (ImGui::IsItemHovered()) tooltip(hint(bar));
      at = next;
    }
    drawRow(axis, -2, "Now", {0, whole(waterfall.after_ns)}, ui_.theme.accent,
            msText(whole(waterfall.after_ns)) + " ms", "", false);
  }

  struct Axis {
    double low = 0, high = 1;
    float begin = 0, end = 1;
    float at(double ns) const { return begin + static_cast<float>((ns - low) / (high - low)) * (end - begin); }
  };

  static std::string hint(const WaterfallBar& bar) {
    if (bar.parts.empty()) return causeMeaning(bar.cause);
    return fmt::format("{}\n{} place{}; a click selects them", causeMeaning(bar.cause), bar.parts.size(),
                       bar.parts.size() == 1 ? "" : "s");
  }

  // True if the row was clicked.
  bool drawRow(const Axis& axis, int id, const std::string& name, std::pair<double, double> span, ImU32 color,
               const std::string& change, const std::string& spread, bool marked) const {
    const ImVec2 local = {0, ImGui::GetCursorPosY()};
    ImGui::SetCursorPos(local);
    ImGui::PushID(id);
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
    const bool clicked = ImGui::InvisibleButton("bar", {ImGui::GetWindowWidth(), row_height_}) && id >= 0;
    ImGui::PopStyleVar();
    ImGui::PopID();
    const ImVec2 low = ImGui::GetItemRectMin(), high = ImGui::GetItemRectMax();
    ImDrawList* list = ImGui::GetWindowDrawList();
    const bool hovered = id >= 0 && ImGui::IsItemHovered();
    if (marked || hovered) list->AddRectFilled(low, high, marked ? ui_.theme.selection : ui_.theme.raised);
    const float from = axis.at(span.first), to = axis.at(span.second);
    const float left = std::min(from, to), right = std::max(from, to);
    list->AddRectFilled({left, low.y + ui_.px(5)}, {std::max(right, left + ui_.px(2)), high.y - ui_.px(5)}, color,
                        ui_.px(2));
    list->AddLine({to, high.y - ui_.px(5)}, {to, high.y + ui_.px(5)}, ui_.theme.faint);  // where the next bar begins
    const float text_y = low.y + std::floor((row_height_ - ui_.fonts.text->FontSize) / 2);
    drawFittedText(list, ui_.fonts.text, ui_.fonts.text->FontSize, {low.x + ui_.px(13), text_y},
                   ui_.px(kCausePoints - 12), ui_.theme.text, name);
    drawRight(change, axis.end + ui_.px(kChangePoints), text_y, id < 0 ? ui_.theme.text : color);
    drawRight(spread, axis.end + ui_.px(kChangePoints + kSpreadPoints), text_y, ui_.theme.dim);
    return clicked;
  }

  void drawRight(const std::string& text, float right, float y, ImU32 color) const {
    ImFont* font = ui_.fonts.text;
    const float width = font->CalcTextSizeA(font->FontSize, 1e9F, 0, text.c_str()).x;
    ImGui::GetWindowDrawList()->AddText(font, font->FontSize, {right - width, y}, color, text.c_str());
  }

  // The one thing to press next, with the gain that measurements let expect.
  void drawNext(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) const {
    const Advice* advice = recommendedAdvice(snapshot.index->advice);
    if (advice == nullptr) return;
    label(ui_.theme.text, "Next", ui_.fonts.head);
    const float width = ImGui::GetContentRegionAvail().x;
    if (paragraphWithLinks(ui_, advice->text, {{advice->link, ""}}, width) == 0) showAdvised(*advice, selection);
    std::string text = advice->offer;
    if (advice->gain_ns > 0) text += fmt::format(": about {} less", formatTime(advice->gain_ns));
    const std::string why_not = whyNotOffer(*advice, snapshot);
    if (button(ui_, "next", text, ButtonLook::kPrimary, why_not) || selection.take("waterfall.next"))
      if (why_not.empty()) takeOffer(*advice, snapshot, selection, commands);
    ImGui::Dummy({1, ui_.px(6)});
  }

  void drawDetail(const Waterfall& waterfall, Selection& selection) {
    const int shown = marked_ < 0 ? largest(waterfall) : marked_;
    const WaterfallBar& bar = waterfall.bars[static_cast<std::size_t>(shown)];
    label(ui_.theme.text, causeTitle(bar.cause), ui_.fonts.head);
    paragraph(ui_.theme.dim, causeMeaning(bar.cause));
    const float right = ImGui::GetCursorPosX() + ImGui::GetContentRegionAvail().x;
    for (std::size_t p = 0; p < std::min(bar.parts.size(), kMaxParts); ++p) {
      const WaterfallPart& part = bar.parts[p];
      ImGui::PushID(static_cast<int>(p));
      const ImVec2 at = ImGui::GetCursorPos();
      if (ImGui::Selectable("##part", marked_part_ == static_cast<int>(p) && selection.overlaps(part.origins), 0,
                            {0, ui_.px(17)})) {
        marked_part_ = static_cast<int>(p);
        if (!part.origins.empty()) selection.select(part.origins, true);
      }
      ImGui::PopID();
      ImGui::SetCursorPos(at);
      fittedLabel(ui_, ui_.theme.text, displayText(part.name), right - at.x - ui_.px(90));
      ImGui::SameLine();
      labelRight(part.gain_ns >= 0 ? ui_.theme.good : ui_.theme.warning, changeText(part.gain_ns) + " ms", right);
    }
  }

  static int largest(const Waterfall& waterfall) {
    const auto at = std::max_element(
        waterfall.bars.begin(), waterfall.bars.end(),
        [](const WaterfallBar& a, const WaterfallBar& b) { return std::llabs(a.gain_ns) < std::llabs(b.gain_ns); });
    return static_cast<int>(at - waterfall.bars.begin());
  }

  const Ui& ui_;
  float row_height_ = 0;
  int marked_ = -1;       // index of the bar that was chosen; -1: none
  int marked_part_ = -1;  // of its parts
};

void fillWaterfall(const StudioSnapshot& snapshot, PanelTable* table) {
  const Waterfall& waterfall = snapshot.index->waterfall;
  table->columns = {"cause", "gain_ms", "half_width_ms", "before_ms", "after_ms", "places", "origins"};
  PanelTable parts;
  parts.panel = "parts";
  parts.columns = {"cause", "name", "gain_ms", "origins"};
  double at = whole(waterfall.before_ns);
  for (const WaterfallBar& bar : waterfall.bars) {
    const double next = at - whole(bar.gain_ns);
    table->rows.push_back({std::string(causeName(bar.cause)), ms(whole(bar.gain_ns)), ms(bar.half_width_ns), ms(at),
                           ms(next), whole(static_cast<std::int64_t>(bar.parts.size())), originsText(bar.origins)});
    for (const WaterfallPart& part : bar.parts)
      parts.rows.push_back(
          {std::string(causeName(bar.cause)), part.name, ms(whole(part.gain_ns)), originsText(part.origins)});
    at = next;
  }
  table->more.push_back(std::move(parts));
}

std::vector<ActionGroup> waterfallActions() {
  return {{690, {{"waterfall.next", "Waterfall: do what is recommended next", "Ctrl+Enter"}}}};
}

}  // namespace

extern const PanelEntry kWaterfallPanel;
const PanelEntry kWaterfallPanel{
    "waterfall",   [](const Ui& ui) -> std::unique_ptr<Panel> { return std::make_unique<WaterfallPanel>(ui); },
    fillWaterfall, "Waterfall: from before to now",
    "Shift+W",     waterfallActions()};

}  // namespace ipex_studio
