// See mode_chips.h.
#include "studio/panels/mode_chips.h"

#include <fmt/format.h>

#include <cmath>

#include "core/record/input_text.h"
#include "studio/ui/imgui_compat.h"

namespace ipex_studio {
namespace {

constexpr float kChipPoints = 24;
constexpr std::size_t kMaxChipBytes = 60;

std::string placeText(const std::string& what) {
  if (what == "*") return "all";
  if (what.rfind("kind:", 0) == 0) return "every " + what.substr(5);
  return what;
}

std::string precisionText(const std::string& name) {
  std::string text = name;
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

float chipWidth(const Ui& ui, const std::string& text) {
  return std::floor(ImGui::CalcTextSize(text.c_str()).x + ui.px(8 + 6 + kChipPoints));
}

// Inputs of a measured point that the next run takes, unless the last run had them.
std::string pendingInputs(const StudioSnapshot& snapshot) {
  const std::vector<std::string>& taken = snapshot.work.inputs.taken;
  std::vector<std::string> last;
  for (const InputRecord& input : snapshot.job->model.inputs) last.push_back(inputText(input.name, input.description));
  std::string text;
  for (const std::string& input : taken) text += (text.empty() ? "" : " ") + input;
  return taken == last ? std::string() : text;
}

// Draws one chip at the cursor; true if its cross was clicked.
bool drawChip(const Ui& ui, int id, const ModeChip& chip, bool enabled) {
  const float height = std::floor(ui.px(kChipPoints)), width = chipWidth(ui, chip.text);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(at, {at.x + width, at.y + height}, ui.theme.selection, ui.px(5));
  const float y = std::floor(at.y + (height - ImGui::GetFontSize()) / 2);
  list->AddText({at.x + ui.px(8), y}, ui.theme.text, chip.text.c_str());
  ImGui::PushID(id);
  ImGui::SetCursorScreenPos({at.x + width - height, at.y});
  const bool clicked = invisibleButton(ui, "remove", {height, height}) && enabled;
  const bool hovered = ImGui::IsItemHovered();
  ImGui::PopID();
  const ImVec2 middle = {std::floor(at.x + width - height / 2), std::floor(at.y + height / 2)};
  const float arm = ui.px(4);
  const ImU32 ink = !enabled ? ui.theme.faint : hovered ? ui.theme.bad : ui.theme.dim;
  list->AddLine({middle.x - arm, middle.y - arm}, {middle.x + arm, middle.y + arm}, ink, ui.px(1.4F));
  list->AddLine({middle.x - arm, middle.y + arm}, {middle.x + arm, middle.y - arm}, ink, ui.px(1.4F));
  if (hovered) tooltip(enabled ? chip.tooltip : "It can be removed when nothing runs.");
  return clicked;
}

}  // namespace

std::vector<ModeChip> modeChips(const StudioSnapshot& snapshot) {
  std::vector<ModeChip> chips;
  const Overrides& now = snapshot.overrides.now;
  for (const PrecisionOverride& decision : now.precisions) {
    const std::string text = fmt::format("{} in {}", displayText(placeText(decision.what), kMaxChipBytes),
                                         precisionText(decision.precision));
    chips.push_back({text, "Takes this decision back for the next run.", OverrideCommand{now.with(decision), false}});
  }
  for (const KernelPin& pin : now.pins) {
    const std::string text =
        fmt::format("{} for {}", displayText(pin.kernel, kMaxChipBytes / 2), displayText(pin.step, kMaxChipBytes / 2));
    chips.push_back({text, "Lets the kernel be chosen again in the next run.", OverrideCommand{now.with(pin), false}});
  }
  if (const std::string inputs = pendingInputs(snapshot); !inputs.empty())
    chips.push_back({displayText(inputs, kMaxChipBytes), "Takes the inputs of the last run again for the next one.",
                     DropFlagCommand{"--input"}});
  for (const FlagShown& flag : snapshot.work.flags_in_force)
    chips.push_back({displayText(flag.words, kMaxChipBytes), "Leaves this flag out from the next run on.",
                     DropFlagCommand{flag.name}});
  return chips;
}

void drawModeChips(const Ui& ui, const StudioSnapshot& snapshot, Commands& commands) {
  const std::vector<ModeChip> chips = modeChips(snapshot);
  const bool idle = snapshot.status.state != JobState::kWorking;
  const float gap = ui.px(8), right = ImGui::GetWindowWidth() - ui.px(16), more = buttonSize(ui, "00 more").x;
  float x = ui.px(16);
  const auto middle = [&](float height) {
    ImGui::SetCursorPos({std::floor(x), std::floor((ImGui::GetWindowHeight() - height) / 2)});
  };
  middle(ui.fonts.text->FontSize);
  label(ui.theme.dim, "in force");
  x += ImGui::GetItemRectSize().x + gap;
  std::size_t shown = 0;
  for (; shown < chips.size(); ++shown) {
    const bool last = shown + 1 == chips.size();
    const float width = chipWidth(ui, chips[shown].text);
    if (x + width + (last ? 0 : gap + more) > right) break;
    middle(std::floor(ui.px(kChipPoints)));
    if (drawChip(ui, static_cast<int>(shown), chips[shown], idle)) commands.post(chips[shown].remove);
    x += width + gap;
  }
  if (shown == chips.size()) return;
  middle(ui.px(30));
  if (button(ui, "more", fmt::format("{} more", chips.size() - shown), ButtonLook::kQuiet)) ImGui::OpenPopup("chips");
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {ui.px(10), ui.px(10)});
  if (beginMenu("chips")) {
    for (; shown < chips.size(); ++shown) {
      if (drawChip(ui, static_cast<int>(shown), chips[shown], idle)) commands.post(chips[shown].remove);
      ImGui::Dummy({chipWidth(ui, chips[shown].text), ui.px(4)});
    }
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar();
}

}  // namespace ipex_studio
