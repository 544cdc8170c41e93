// The panel at the left: the history of passes, to scrub through, and below it what to do next.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "profiler/waterfall.h"
#include "studio/panels/panel.h"
#include "studio/panels/table_cells.h"
#include "studio/ui/advice_offer.h"

namespace ipex_studio {
namespace {

constexpr float kPassPoints = 28;
constexpr float kDonePoints = 62;  // distance of the column's right edge from the panel's
constexpr float kMissedPoints = 14;
constexpr float kNumberedPoints = 280;  // width below which the names need the room of the numbers

// True if passes of the shown job were measured by leaving them out.
bool gainsAreKnown(const StudioSnapshot& snapshot) {
  const PassGains& known = snapshot.work.pass_gains;
  return !known.gains.empty() && known.of_job == snapshot.job->started_unix_ns;
}

// Null if it was not measured.
const PassGain* gainOf(const StudioSnapshot& snapshot, const std::string& pass) {
  const std::vector<PassGain>& gains = snapshot.work.pass_gains.gains;
  const auto found = std::find_if(gains.begin(), gains.end(), [&](const PassGain& gain) { return gain.pass == pass; });
  return found == gains.end() || !gainsAreKnown(snapshot) ? nullptr : &*found;
}

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
    const bool gains = gainsAreKnown(snapshot);
    labelRight(ui_.theme.dim, gains ? "ms" : "done", width - ui_.px(kDonePoints), ui_.fonts.head);
    ImGui::SetCursorPosY(head_y);
    labelRight(ui_.theme.dim, "missed", width - ui_.px(kMissedPoints), ui_.fonts.head);
    ImGui::SetCursorPos(after);
    const float rest = ImGui::GetWindowHeight() - ui_.px(kHeadPoints);
    const bool advice = !index.advice.empty();
    std::size_t shown = index.stages.size();
    for (std::size_t s = 1; s < index.stages.size() && !show_all_; ++s)
      shown -= didNothing(snapshot, static_cast<std::int32_t>(s)) ? 1 : 0;
    const float rows = static_cast<float>(std::max<std::size_t>(shown + 1, 4)) * ui_.px(kPassPoints) + ui_.px(10);
    const float list_height = std::floor(advice ? std::min(rows, rest * 0.55F) : rest);
    if (beginArea(ui_, "history", {0, list_height}, ui_.theme.panel, {0, 4})) {
      if (index.stages.size() < 2) {
        drawEmpty(snapshot);
      } else {
        drawHistory(snapshot, selection, commands);
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
    } else if (snapshot.status.state == JobState::kRecorded) {
      emptyState(ui_, "No passes were recorded", pressOptimize(snapshot) + ": every pass is listed here.");
    } else {
      emptyState(ui_, "No passes yet", "Press Optimize to run them all.");
    }
  }

  // True for passes that neither rewrote nor declined anything; they are hidden.
  static bool didNothing(const StudioSnapshot& snapshot, std::int32_t stage) {
    const PassRecord& pass = snapshot.job->passes[snapshot.index->stages[stage].pass];
    return !pass.changed && pass.rewrites == 0 && pass.missed == 0;
  }

  void drawHistory(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) {
    const JobIndex& index = *snapshot.index;
    if (selection.take("pass.all")) show_all_ = !show_all_;
    const auto last = static_cast<std::int32_t>(index.stages.size()) - 1;
    std::int32_t shown = selection.after_stage < 0 ? index.default_stage : std::min(selection.after_stage, last);
    const std::int32_t before = shown;
    std::int32_t idle = 0;
    for (std::int32_t s = 1; s <= last; ++s) {
      const bool nothing = didNothing(snapshot, s);
      idle += nothing ? 1 : 0;
      if (nothing && !show_all_ && s != shown) continue;
      const bool clicked = drawRow(snapshot, s, s == shown);
      if (clicked) shown = s;
      // A pass that keys have chosen is brought into view.
      if (s == shown && shown != last_shown_ && last_shown_ >= 0) ImGui::SetScrollHereY();
    }
    if (idle > 0) drawIdle(idle);
    drawMeasure(snapshot, selection);
    measureByKey(snapshot, shown, selection, commands);
    last_shown_ = shown;
    if (shown != before) selection.after_stage = shown;
  }

  void drawIdle(std::int32_t count) {
    const float left = ui_.px(ImGui::GetWindowWidth() >= ui_.px(kNumberedPoints) ? 36 : 13);
    ImGui::SetCursorPos({left, ImGui::GetCursorPosY() + std::floor(ui_.px(6))});
    const std::string text =
        show_all_ ? fmt::format("Hide the {} that did nothing", count) : fmt::format("{} more did nothing", count);
    if (link(ui_, "idle", text)) show_all_ = !show_all_;
    ImGui::Dummy({1, ui_.px(4)});
  }

  // Offers to measure what passes gain.
  void drawMeasure(const StudioSnapshot& snapshot, Selection& selection) const {
    if (!snapshot.overrides.possible || snapshot.index->optimized.run == nullptr) return;
    const float left = ui_.px(ImGui::GetWindowWidth() >= ui_.px(kNumberedPoints) ? 36 : 13);
    ImGui::SetCursorPos({left, ImGui::GetCursorPosY() + std::floor(ui_.px(2))});
    if (link(ui_, "gains", gainsAreKnown(snapshot) ? "Measure each again" : "Measure what each gains"))
      selection.request("pass.gains");
    if (ImGui::IsItemHovered()) tooltip("Leaves out one pass at a time and times both by turns: some seconds a pass.");
    ImGui::Dummy({1, ui_.px(4)});
  }

  bool drawRow(const StudioSnapshot& snapshot, std::int32_t stage, bool shown) const {
    const PassRecord& pass = snapshot.job->passes[snapshot.index->stages[stage].pass];
    const float width = ImGui::GetWindowWidth();
    const float height = std::floor(ui_.px(kPassPoints));
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
    if (hovered) showTooltip(fmt::format("{} · {}", stage, snapshot.index->stages[stage].name), pass);
    const ImVec2 next = ImGui::GetCursorPos();
    const float text_y = local.y + std::floor((height - ui_.fonts.text->FontSize) / 2);
    const ImU32 ink = pass.changed ? ui_.theme.text : ui_.theme.dim;
    ImGui::SetCursorPosY(text_y);
    const bool numbered = width >= ui_.px(kNumberedPoints);
    if (numbered) labelRight(ui_.theme.dim, std::to_string(stage), ui_.px(26));
    const float left = ui_.px(numbered ? 36 : 13);
    ImGui::SetCursorPos({left, text_y});
    fittedLabel(ui_, ink, snapshot.index->stages[stage].name, width - left - ui_.px(kDonePoints + 30));
    ImGui::SetCursorPosY(text_y);
    drawDone(snapshot, pass, width - ui_.px(kDonePoints));
    ImGui::SetCursorPosY(text_y);
    labelRight(pass.missed > 0 ? ui_.theme.warning : ui_.theme.dim, pass.missed > 0 ? std::to_string(pass.missed) : "–",
               width - ui_.px(kMissedPoints));
    ImGui::SetCursorPos(next);
    return clicked;
  }

  // The number of rewrites, or what the pass gained once that was measured.
  void drawDone(const StudioSnapshot& snapshot, const PassRecord& pass, float right) const {
    if (!gainsAreKnown(snapshot)) {
      const bool done = pass.rewrites > 0;
      labelRight(done ? ui_.theme.good : ui_.theme.dim, done ? fmt::format("+{}", pass.rewrites) : "0", right);
      return;
    }
    const PassGain* gain = gainOf(snapshot, pass.name);
    if (gain == nullptr) return labelRight(ui_.theme.dim, "–", right);
    const ImU32 ink = !gain->clear() ? ui_.theme.dim : gain->gain_ns > 0 ? ui_.theme.good : ui_.theme.warning;
    labelRight(ink, gain->clear() ? changeText(std::llround(gain->gain_ns)) : "≈ 0", right);
  }

  // Asks for what the shown pass gains, or all that rewrote something.
  static void measureByKey(const StudioSnapshot& snapshot, std::int32_t shown, Selection& selection,
                           Commands& commands) {
    const bool one = selection.take("pass.gain"), all = selection.take("pass.gains");
    if ((!one && !all) || !snapshot.overrides.possible) return;
    PassGainsCommand command;
    for (std::int32_t s = 1; s < static_cast<std::int32_t>(snapshot.index->stages.size()); ++s) {
      const PassRecord& pass = snapshot.job->passes[snapshot.index->stages[s].pass];
      if (all ? pass.changed : s == shown) command.passes.push_back(pass.name);
    }
    commands.post(std::move(command));
  }

  void showTooltip(const std::string& name, const PassRecord& pass) const {
    std::string text = name + "\n" + displayText(pass.summary, 300);
    text +=
        fmt::format("\n{} · {} nodes afterwards", formatTime(static_cast<double>(pass.elapsed_ns)), pass.nodes_after);
    ImGui::BeginTooltip();
    ImGui::PushTextWrapPos(ui_.px(340));
    label(ui_.theme.text, text);
    ImGui::PopTextWrapPos();
    ImGui::EndTooltip();
  }

  // Carries out requested actions, as a click on a link of the marked advice does.
  int linkByKey(const std::vector<Advice>& all, Selection& selection) {
    const auto count = static_cast<int>(all.size());
    if (selection.take("advice.next")) {
      marked_advice_ = (marked_advice_ + 1) % count;
      scroll_to_advice_ = true;
    }
    marked_advice_ = std::min(marked_advice_, count - 1);
    const bool show = selection.take("advice.show");
    const bool attempt = selection.take("advice.try");
    if (marked_advice_ < 0 && (show || attempt)) marked_advice_ = 0;
    return show ? 0 : attempt ? 1 : -1;
  }

  void drawAdvice(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) {
    const JobIndex& index = *snapshot.index;
    const int by_key = linkByKey(index.advice, selection);
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
      const bool marked = static_cast<int>(a) == marked_advice_;
      const ImVec2 begin = ImGui::GetCursorScreenPos();
      ImGui::SetCursorPosX(ui_.px(13));
      const ImU32 color = advice.tone == Advice::Tone::kWarning ? ui_.theme.warning
                          : advice.tone == Advice::Tone::kGood  ? ui_.theme.good
                                                                : ui_.theme.accent;
      swatch(ui_, color);
      ImGui::SameLine(ui_.px(30), 0);
      const float width = ImGui::GetContentRegionAvail().x - ui_.px(12);
      const std::string why_not = whyNotOffer(advice, snapshot);
      const int by_mouse = paragraphWithLinks(ui_, advice.text, {{advice.link, ""}, {advice.offer, why_not}}, width);
      const int clicked = marked && by_key >= 0 ? by_key : by_mouse;
      if (marked) {
        if (scroll_to_advice_) ImGui::SetScrollHereY(1);
        scroll_to_advice_ = false;
        const float left = ImGui::GetWindowPos().x;
        ImGui::GetWindowDrawList()->AddRectFilled({left, begin.y}, {left + ui_.px(3), ImGui::GetCursorScreenPos().y},
                                                  ui_.theme.accent);
      }
      if (clicked == 0) showAdvised(advice, selection);
      if (clicked == 1 && !advice.offer.empty() && why_not.empty()) takeOffer(advice, snapshot, selection, commands);
      ImGui::Dummy({1, ui_.px(3)});
      ImGui::PopID();
    }
  }

  const Ui& ui_;
  std::int32_t last_shown_ = -1;
  bool show_all_ = false;
  bool scroll_to_advice_ = false;
  int marked_advice_ = -1;  // index of the advice that keys have reached; -1: none
};

void fillPasses(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"position",    "pass",    "changed", "done",        "missed",      "time_ms",
                    "nodes_after", "summary", "gain_ms", "gain_low_ms", "gain_high_ms"};
  for (const PassRecord& pass : snapshot.job->passes) {
    const PassGain* gain = gainOf(snapshot, pass.name);
    table->rows.push_back({whole(pass.index), pass.name, std::string(pass.changed ? "yes" : "no"), whole(pass.rewrites),
                           whole(pass.missed), ms(whole(pass.elapsed_ns)), whole(pass.nodes_after), pass.summary,
                           gain == nullptr ? kNotMeasured : ms(gain->gain_ns),
                           gain == nullptr ? kNotMeasured : ms(gain->low_ns),
                           gain == nullptr ? kNotMeasured : ms(gain->high_ns)});
  }
}

std::vector<ActionGroup> passesActions() {
  return {{300,
           {{"advice.next", "What to do next: mark the next advice", "Ctrl+N"},
            {"advice.show", "What to do next: show what is marked", ""},
            {"advice.try", "What to do next: do what is marked", "Ctrl+Shift+N"}}},
          {320,
           {{"pass.all", "Show or hide the passes that did nothing", ""},
            {"pass.gain", "Measure what the shown pass gains", ""},
            {"pass.gains", "Measure what each pass gains", ""}}}};
}

}  // namespace

extern const PanelEntry kPassesPanel;
const PanelEntry kPassesPanel{
    "passes",   [](const Ui& ui) -> std::unique_ptr<Panel> { return std::make_unique<PassesPanel>(ui); },
    fillPasses, "",
    "",         passesActions()};

}  // namespace ipex_studio
