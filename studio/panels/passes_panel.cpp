// Left: the history of passes, to scrub through, and below it what to do next.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "studio/panels/panel_list.h"

namespace ipex_studio {
namespace {

constexpr float kRowPoints = 30;
constexpr float kDonePoints = 68;  // right edge of the column, from the right
constexpr float kMissedPoints = 14;

class PassesPanel : public Panel {
 public:
  explicit PassesPanel(const Ui& ui) : ui_(ui) {}
  const char* name() const override { return "passes"; }
  const char* title() const override { return "Passes"; }
  PanelPlace place() const override { return PanelPlace::kLeft; }

  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) override {
    const JobIndex& index = *snapshot.index;
    const float width = ImGui::GetWindowWidth();
    panelHead(ui_, "Passes");
    const float head_y = std::floor((ui_.px(kHeadPoints) - ui_.fonts.head->FontSize) / 2);
    const ImVec2 after = ImGui::GetCursorPos();
    ImGui::SetCursorPosY(head_y);
    labelRight(ui_.theme.dim, "done", width - ui_.px(kDonePoints), ui_.fonts.head);
    ImGui::SetCursorPosY(head_y);
    labelRight(ui_.theme.dim, "missed", width - ui_.px(kMissedPoints), ui_.fonts.head);
    ImGui::SetCursorPos(after);
    const float rest = ImGui::GetWindowHeight() - ui_.px(kHeadPoints);
    const bool advice = !index.advice.empty();
    const float rows =
        static_cast<float>(std::max<std::size_t>(index.stages.size(), 4)) * ui_.px(kRowPoints) + ui_.px(10);
    const float list_height = std::floor(advice ? std::min(rows, rest * 0.55F) : rest);
    if (beginArea(ui_, "history", {0, list_height}, ui_.theme.panel, {0, 4})) {
      if (index.stages.size() < 2) {
        drawEmpty(snapshot);
      } else {
        drawHistory(snapshot, selection);
      }
    }
    endArea();
    if (!advice) return;
    ImGui::SetCursorPos({0, ui_.px(kHeadPoints) + list_height});
    if (beginArea(ui_, "advice", {0, 0}, ui_.theme.panel, {0, 0})) drawAdvice(snapshot, selection, commands);
    endArea();
  }

 private:
  void drawEmpty(const StudioSnapshot& snapshot) const {
    if (snapshot.status.state == JobState::kEmpty || snapshot.status.state == JobState::kFailed) {
      emptyState(ui_, "No passes", "They are listed here once a model is open and optimized.");
    } else if (snapshot.status.state == JobState::kWorking) {
      emptyState(ui_, "No passes yet", "Each pass is listed as it finishes.");
    } else {
      emptyState(ui_, "No passes yet", "Press Optimize to run them all.");
    }
  }

  void drawHistory(const StudioSnapshot& snapshot, Selection& selection) {
    const JobIndex& index = *snapshot.index;
    const auto last = static_cast<std::int32_t>(index.stages.size()) - 1;
    std::int32_t shown = selection.after_stage < 0 ? index.default_stage : std::min(selection.after_stage, last);
    const std::int32_t before = shown;
    for (std::int32_t s = 1; s <= last; ++s) {
      const bool clicked = drawRow(snapshot, s, s == shown);
      if (clicked) shown = s;
      // The keys move it elsewhere.
      if (s == shown && shown != last_shown_ && last_shown_ >= 0) ImGui::SetScrollHereY();
    }
    last_shown_ = shown;
    if (shown != before) selection.after_stage = shown;
  }

  bool drawRow(const StudioSnapshot& snapshot, std::int32_t stage, bool shown) const {
    const PassRecord& pass = snapshot.job->passes[snapshot.index->stages[stage].pass];
    const float width = ImGui::GetWindowWidth();
    const float height = std::floor(ui_.px(kRowPoints));
    const ImVec2 local = {0, ImGui::GetCursorPosY()};
    ImGui::SetCursorPos(local);
    ImGui::PushID(stage);
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
    const bool clicked = ImGui::InvisibleButton("pass", {width, height});
    ImGui::PopStyleVar();
    ImGui::PopID();
    const bool hovered = ImGui::IsItemHovered();
    const ImVec2 low = ImGui::GetItemRectMin();
    const ImVec2 high = ImGui::GetItemRectMax();
    ImDrawList* list = ImGui::GetWindowDrawList();
    if (shown || hovered) list->AddRectFilled(low, high, shown ? ui_.theme.selection : ui_.theme.raised);
    if (shown) list->AddRectFilled(low, {low.x + ui_.px(2), high.y}, ui_.theme.accent);
    if (hovered) showTooltip(pass);
    const ImVec2 next = ImGui::GetCursorPos();
    const float text_y = local.y + std::floor((height - ui_.fonts.text->FontSize) / 2);
    const ImU32 ink = pass.changed ? ui_.theme.text : ui_.theme.dim;
    ImGui::SetCursorPosY(text_y);
    labelRight(ui_.theme.dim, std::to_string(stage), ui_.px(26));
    ImGui::SetCursorPos({ui_.px(36), text_y});
    fittedLabel(ui_, ink, snapshot.index->stages[stage].name, width - ui_.px(36 + kDonePoints + 28));
    ImGui::SetCursorPosY(text_y);
    const bool done = pass.rewrites > 0;
    labelRight(done ? ui_.theme.good : ui_.theme.dim, done ? fmt::format("+{}", pass.rewrites) : "0",
               width - ui_.px(kDonePoints));
    ImGui::SetCursorPosY(text_y);
    labelRight(pass.missed > 0 ? ui_.theme.warning : ui_.theme.dim, pass.missed > 0 ? std::to_string(pass.missed) : "–",
               width - ui_.px(kMissedPoints));
    ImGui::SetCursorPos(next);
    return clicked;
  }

  void showTooltip(const PassRecord& pass) const {
    std::string text = displayText(pass.summary, 300);
    text +=
        fmt::format("\n{} · {} nodes afterwards", formatTime(static_cast<double>(pass.elapsed_ns)), pass.nodes_after);
    ImGui::BeginTooltip();
    ImGui::PushTextWrapPos(ui_.px(340));
    label(ui_.theme.text, text);
    ImGui::PopTextWrapPos();
    ImGui::EndTooltip();
  }

  void drawAdvice(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) const {
    const JobIndex& index = *snapshot.index;
    hairline(ui_);
    const float top = ImGui::GetCursorPosY();
    ImGui::SetCursorPos({ui_.px(13), top + std::floor(ui_.px(8))});
    label(ui_.theme.dim, "What to do next", ui_.fonts.head);
    ImGui::SetCursorPosY(top + std::floor(ui_.px(kHeadPoints)));
    hairline(ui_);
    ImGui::Dummy({1, ui_.px(3)});
    for (std::size_t a = 0; a < index.advice.size(); ++a) {
      const Advice& advice = index.advice[a];
      ImGui::PushID(static_cast<int>(a));
      ImGui::SetCursorPosX(ui_.px(13));
      const ImU32 color = advice.tone == Advice::Tone::kWarning ? ui_.theme.warning
                          : advice.tone == Advice::Tone::kGood  ? ui_.theme.good
                                                                : ui_.theme.accent;
      swatch(ui_, color);
      ImGui::SameLine(ui_.px(30), 0);
      const float width = ImGui::GetContentRegionAvail().x - ui_.px(12);
      const bool offered = advice.try_it.empty() ? !advice.action.empty() && snapshot.work.tuning.possible : snapshot.overrides.possible;
      const int clicked = paragraphWithLinks(ui_, advice.text, {advice.link, offered ? advice.offer : ""}, width);
      if (clicked == 0) follow(advice, selection);
      if (clicked == 1 && advice.try_it.empty()) selection.request(advice.action);
      if (clicked == 1 && !advice.try_it.empty()) {
        commands.post(OverrideCommand{snapshot.overrides.now.adding(advice.try_it), true});
        selection.front_panel = "precision";
      }
      ImGui::Dummy({1, ui_.px(3)});
      ImGui::PopID();
    }
  }

  static void follow(const Advice& advice, Selection& selection) {
    if (!advice.origins.empty()) selection.select(advice.origins, true);
    if (!advice.tab.empty()) selection.front_panel = advice.tab;
  }

  const Ui& ui_;
  std::int32_t last_shown_ = -1;
};

}  // namespace

std::unique_ptr<Panel> makePassesPanel(const Ui& ui) { return std::make_unique<PassesPanel>(ui); }

}  // namespace ipex_studio
