// See flags_dialog.h.
#include "studio/panels/dialogs/flags_dialog.h"

#include <utility>

#include "studio/ui/imgui_compat.h"

namespace ipex_studio {
namespace {

constexpr const char* kFlagsTitle = "Flags";

}  // namespace

void FlagsDialog::open(const StudioSnapshot& snapshot) {
  setField(&words_, snapshot.work.flags);
  asked_ = false;
  problem_.clear();
  opening_ = true;
}

void FlagsDialog::draw(const StudioSnapshot& snapshot, Commands& commands) {
  const bool fresh = opening_;
  if (opening_) ImGui::OpenPopup(kFlagsTitle);
  opening_ = false;
  if (!beginDialog(ui_, kFlagsTitle, 680)) return;
  label(ui_.theme.text, "Flags for this model's runs", ui_.fonts.strong);
  paragraph(ui_.theme.dim,
            "As ipex-studio run takes them; its --help explains each. What they do not say stays as it is chosen in "
            "the window.");
  ImGui::Dummy({1, ui_.px(4)});
  ImGui::PushFont(ui_.fonts.mono);
  if (fresh) ImGui::SetKeyboardFocusHere();
  ImGui::SetNextItemWidth(ImGui::GetContentRegionAvail().x);
  ImGui::InputTextWithHint("##words", "--instances 2 --no-winograd --disable fuse-binary", words_.data(),
                           words_.size());
  tabField(ui_);
  ImGui::PopFont();
  ImGui::Dummy({1, ui_.px(6)});
  const FlagsAnswer& answer = snapshot.work.flags_answer;
  const bool answered = std::exchange(answer_, answer.number) != answer.number && std::exchange(asked_, false);
  if (answered) problem_ = answer.problem;
  const std::string why = asked_ ? "The flags are being read." : whyNotStart(snapshot);
  if (!problem_.empty()) {
    message(ui_, ui_.theme.bad, displayText(problem_, 600));
  } else if (!why.empty() && !asked_) {
    paragraph(ui_.theme.dim, why);
  }
  ImGui::Dummy({1, ui_.px(2)});
  if (confirmButton(ui_, "start", "Optimize with these", why)) {
    commands.post(FlagsCommand{words_.data()});
    asked_ = true;
  }
  ImGui::SameLine();
  const bool close = button(ui_, "close", "Close", ButtonLook::kPlain);
  // Flags that are refused stay here, with the reason.
  if ((answered && problem_.empty()) || close || keyPressed(ImGuiKey_Escape)) ImGui::CloseCurrentPopup();
  endDialog();
}

}  // namespace ipex_studio
