// Bottom tab: what the value of the selected node holds, in the model, in the optimized model and in FP64: numbers,
// histograms, and a picture where it looks like an image.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "studio/panels/chart.h"
#include "studio/panels/panel.h"
#include "studio/panels/table_cells.h"
#include "studio/snapshot/value_text.h"

namespace ipex_studio {
namespace {

constexpr float kToolsPoints = 40;
constexpr float kKeyPoints = 112;  // width of the names of facts
constexpr float kColumnPoints = 190;
constexpr float kRowPoints = 21;
constexpr float kPicturePoints = 150;

class ValuesPanel : public Panel {
 public:
  explicit ValuesPanel(const Ui& ui) : ui_(ui) {}
  const char* name() const override { return "values"; }
  const char* title() const override { return "Values"; }
  PanelPlace place() const override { return PanelPlace::kBottomTab; }

  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) override {
    const std::string why_not = whyNotAsk(snapshot, selection);
    if (selection.take("values.compute") && why_not.empty()) commands.post(ValuesCommand{selection.origins().back()});
    const auto& record = snapshot.work.values;
    if (!record) {
      if (!why_not.empty()) return emptyState(ui_, "No value was looked at", why_not);
      const int pressed = offerState(ui_, "No value was looked at",
                                     "The model runs once more, up to the selected node: range, mean, NaN, histogram, "
                                     "and a picture of what looks like an image.",
                                     {"Look at " + nameOf(snapshot, selection)});
      if (pressed == 0) selection.request("values.compute");
      return;
    }
    drawTools(snapshot, *record, selection, why_not);
    if (beginArea(ui_, "value", {0, 0}, ui_.theme.panel, {14, 10})) drawForms(*record);
    endArea();
  }

 private:
  static std::string whyNotAsk(const StudioSnapshot& snapshot, const Selection& selection) {
    std::string why = whyNotStart(snapshot);
    if (why.empty() && selection.empty()) why = "Select a node first; what it gives is shown here.";
    return why;
  }

  static std::string nameOf(const StudioSnapshot& snapshot, const Selection& selection) {
    if (selection.empty()) return "it";
    const auto known = snapshot.index->origin_by_id.find(selection.origins().back());
    if (known == snapshot.index->origin_by_id.end()) return "it";
    const Origin& origin = snapshot.job->model.origins[static_cast<std::size_t>(known->second)];
    const std::string kind = origin.kind.substr(origin.kind.rfind(':') + 1);
    return displayText(origin.module_path.empty() ? kind : origin.module_path + " " + kind, 50);
  }

  void drawTools(const StudioSnapshot& snapshot, const ValueRecord& record, Selection& selection,
                 const std::string& why_not) const {
    const float top = ImGui::GetCursorPosY();
    const bool shown = !selection.empty() && selection.overlaps(record.origins);
    const std::string text = shown || selection.empty() ? "Look again" : "Look at " + nameOf(snapshot, selection);
    ImGui::SetCursorPos({ui_.px(10), top + std::floor(ui_.px(6))});
    if (button(ui_, "compute", text, shown ? ButtonLook::kPlain : ButtonLook::kPrimary, why_not))
      selection.request("values.compute");
    ImGui::SameLine(0, ui_.px(14));
    ImGui::SetCursorPosY(top + std::floor(ui_.px(11)));
    label(ui_.theme.text, displayText(record.name, 120), ui_.fonts.head);
    ImGui::SameLine(0, ui_.px(14));
    ImGui::SetCursorPosY(top + std::floor(ui_.px(11)));
    const std::string difference = valueDifferenceText(record);
    const std::string said = record.remark.empty() ? difference : record.remark + " " + difference;
    fittedLabel(ui_, ui_.theme.dim, displayText(said, 400), ImGui::GetContentRegionAvail().x - ui_.px(14));
    ImGui::SetCursorPosY(top + std::floor(ui_.px(kToolsPoints)));
    hairline(ui_);
  }

  // One column per form: its name, facts, histogram and picture.
  void drawForms(const ValueRecord& record) const {
    const std::vector<ValueFact> facts = valueFacts(record);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float row = std::floor(ui_.px(kRowPoints));
    ImDrawList* list = ImGui::GetWindowDrawList();
    ImFont* const head = ui_.fonts.head;
    ImFont* const mono = ui_.fonts.mono;
    for (std::size_t i = 0; i < facts.size(); ++i)
      list->AddText(head, head->FontSize, {at.x, at.y + row * static_cast<float>(i + 1)}, ui_.theme.dim, facts[i].name);
    for (std::size_t f = 0; f < record.forms.size(); ++f) {
      const float x = at.x + ui_.px(kKeyPoints) + static_cast<float>(f) * ui_.px(kColumnPoints);
      const float width = ui_.px(kColumnPoints - 14);
      drawFittedText(list, head, head->FontSize, {x, at.y}, width, colorOf(f), titleOf(record.forms[f]));
      for (std::size_t i = 0; i < facts.size(); ++i) {
        const bool bad = i >= kFirstFault && facts[i].texts[f] != "0";
        drawFittedText(list, mono, mono->FontSize, {x, at.y + row * static_cast<float>(i + 1)}, width,
                       bad ? ui_.theme.bad : ui_.theme.text, facts[i].texts[f]);
      }
    }
    const float right = at.x + ui_.px(kKeyPoints) + static_cast<float>(record.forms.size()) * ui_.px(kColumnPoints);
    const float height = row * static_cast<float>(facts.size() + 1);
    drawRest(record, {right + ui_.px(20), at.y}, height);
    ImGui::Dummy({right - at.x, height});
  }

  // Histograms over each other in one chart, and the pictures at its right.
  void drawRest(const ValueRecord& record, ImVec2 at, float height) const {
    const float end = ImGui::GetWindowPos().x + ImGui::GetWindowWidth() - ui_.px(14);
    float pictures = 0;
    for (const ValueForm& form : record.forms) pictures += form.picture.empty() ? 0 : ui_.px(kPicturePoints + 12);
    const float chart = std::max(ui_.px(180), end - at.x - pictures - ui_.px(20));
    if (end - at.x >= ui_.px(180)) drawHistograms(record, at, chart, height);
    float x = at.x + chart + ui_.px(20);
    for (std::size_t f = 0; f < record.forms.size(); ++f) {
      const ValueForm& form = record.forms[f];
      if (form.picture.empty() || x + ui_.px(kPicturePoints) > end + 1) continue;
      chartText(ui_, {x, at.y}, colorOf(f), titleOf(form), 0, ui_.fonts.head);
      drawPicture(form, {x, at.y + ui_.px(kRowPoints)}, ui_.px(kPicturePoints));
      x += ui_.px(kPicturePoints + 12);
    }
  }

  void drawHistograms(const ValueRecord& record, ImVec2 at, float width, float height) const {
    const ChartScale x{record.low, record.high > record.low ? record.high : record.low + 1, at.x, at.x + width, false};
    const float bottom = at.y + height - ui_.px(20);
    drawAxisX(ui_, x, at.y, bottom, [](double value) { return fmt::format("{:.4g}", value); });
    std::int64_t most = 1;
    for (const ValueForm& form : record.forms)
      for (const std::int64_t count : form.histogram) most = std::max(most, count);
    ImDrawList* list = ImGui::GetWindowDrawList();
    for (std::size_t f = record.forms.size(); f-- > 0;) {
      const auto& counts = record.forms[f].histogram;
      const float bin = width / static_cast<float>(std::max<std::size_t>(1, counts.size()));
      float before = bottom;
      for (std::size_t b = 0; b < counts.size(); ++b) {
        // The root of the count keeps rare values visible.
        const double share = std::sqrt(static_cast<double>(counts[b]) / static_cast<double>(most));
        const float left = at.x + bin * static_cast<float>(b);
        const float top = bottom - static_cast<float>(share) * (bottom - at.y - ui_.px(4));
        if (f == 0) list->AddRectFilled({left, top}, {left + bin, bottom}, withAlpha(colorOf(f), 0.30F));
        if (f != 0) list->AddLine({left, before}, {left, top}, colorOf(f), ui_.px(1.5F));
        if (f != 0) list->AddLine({left, top}, {left + bin, top}, colorOf(f), ui_.px(1.5F));
        before = top;
      }
    }
  }

  // Runs of equal pixels are drawn at once.
  static void drawPicture(const ValueForm& form, ImVec2 at, float points) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const float pixel = points / static_cast<float>(std::max({form.width, form.height, 1}));
    for (std::int32_t y = 0; y < form.height; ++y) {
      for (std::int32_t x = 0; x < form.width;) {
        const ImU32 color = pixelOf(form, x, y);
        const std::int32_t from = x;
        while (x < form.width && pixelOf(form, x, y) == color) ++x;
        list->AddRectFilled({at.x + pixel * static_cast<float>(from), at.y + pixel * static_cast<float>(y)},
                            {at.x + pixel * static_cast<float>(x), at.y + pixel * static_cast<float>(y + 1)}, color);
      }
    }
  }

  static ImU32 pixelOf(const ValueForm& form, std::int32_t x, std::int32_t y) {
    const std::size_t place =
        (static_cast<std::size_t>(y) * static_cast<std::size_t>(form.width) + static_cast<std::size_t>(x)) *
        static_cast<std::size_t>(form.colors);
    std::array<int, 3> color{};
    for (std::size_t c = 0; c < 3; ++c) color[c] = std::min(form.picture[form.colors == 3 ? place + c : place], 255);
    return IM_COL32(color[0], color[1], color[2], 255);
  }

  static std::string titleOf(const ValueForm& form) {
    return form.form == "fp64" ? "FP64" : displayText(form.form, 20);
  }

  ImU32 colorOf(std::size_t form) const {
    return form == 0 ? ui_.theme.text : form == 1 ? ui_.theme.accent : ui_.theme.good;
  }

  static constexpr std::size_t kFirstFault = 6;  // of the facts: NaN and infinite elements

  const Ui& ui_;
};

void fillValues(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"node", "form",      "type",  "elements", "minimum",   "maximum",
                    "mean", "deviation", "zeros", "nans",     "infinities"};
  const auto& record = snapshot.work.values;
  if (!record) return;
  for (const ValueForm& form : record->forms) {
    table->rows.push_back({record->name, form.form, form.type, whole(form.elements), form.least, form.greatest,
                           form.mean, form.deviation, whole(form.zeros), whole(form.nans), whole(form.infinities)});
  }
}

std::vector<ActionGroup> valuesActions() {
  return {{717, {{"values.compute", "Values: look at what the selected node gives", "Shift+Q"}}}};
}

}  // namespace

extern const PanelEntry kValuesPanel;
const PanelEntry kValuesPanel{
    "values",   [](const Ui& ui) -> std::unique_ptr<Panel> { return std::make_unique<ValuesPanel>(ui); },
    fillValues, "Values: what a node gives",
    "Q",        valuesActions()};

}  // namespace ipex_studio
