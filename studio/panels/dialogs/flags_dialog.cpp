// See flags_dialog.h.
#include "studio/panels/dialogs/flags_dialog.h"

#include "studio/ui/imgui_compat.h"

namespace ipex_studio {
namespace {

constexpr const char* kFlagsTitle = "Flags";

}  // namespace

void FlagsDialog::open(const StudioSnapshot& snapshot) {
  setField(&words_, snapshot.work.flags);
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
  ImGui::PopFont();
  ImGui::Dummy({1, ui_.px(6)});
  const bool possible = snapshot.work.tuning.possible && snapshot.status.state != JobState::kWorking;
  const bool start = confirmButton(ui_, "start", "Optimize with these", possible);
  ImGui::SameLine();
  const bool close = button(ui_, "close", "Close", ButtonLook::kPlain);
  if (!possible) paragraph(ui_.theme.dim, "Open a model first; recorded runs cannot be run again.");
  if (start) commands.post(FlagsCommand{words_.data()});
  if (start || close || keyPressed(ImGuiKey_Escape)) ImGui::CloseCurrentPopup();
  endDialog();
}

}  // namespace ipex_studio
