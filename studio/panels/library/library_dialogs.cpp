// See library_dialogs.h.
#include "studio/panels/library/library_dialogs.h"

#include <utility>

#include "studio/snapshot/snapshot_index.h"
#include "studio/ui/imgui_compat.h"

namespace ipex_studio {
namespace {

constexpr const char* kNameTitle = "Name";
constexpr const char* kForgetTitle = "Forget";

}  // namespace

void LibraryDialogs::askName(const LibraryItem& item, const std::string& what, const std::string& name) {
  item_ = item;
  what_ = what;
  setField(&name_, name);
  opens_name_ = true;
}

void LibraryDialogs::askForget(const LibraryItem& item, const std::string& what, const std::string& loss) {
  item_ = item;
  what_ = what;
  loss_ = loss;
  opens_forget_ = true;
}

void LibraryDialogs::draw(Commands& commands) {
  drawName(commands);
  drawForget(commands);
}

void LibraryDialogs::drawName(Commands& commands) {
  const bool fresh = std::exchange(opens_name_, false);
  if (fresh) ImGui::OpenPopup(kNameTitle);
  if (!beginDialog(ui_, kNameTitle, 460)) return;
  label(ui_.theme.text, "Name " + displayText(what_, 60), ui_.fonts.strong);
  paragraph(ui_.theme.dim,
            "The name stands in the library and in `ipex-studio db list`. Without one, the file's does.");
  ImGui::Dummy({1, ui_.px(4)});
  if (fresh) ImGui::SetKeyboardFocusHere();
  ImGui::SetNextItemWidth(ImGui::GetContentRegionAvail().x);
  const bool entered =
      ImGui::InputTextWithHint("##name", "a name", name_.data(), name_.size(), ImGuiInputTextFlags_EnterReturnsTrue);
  tabField(ui_);
  ImGui::Dummy({1, ui_.px(6)});
  const bool done = confirmButton(ui_, "keep", name_[0] == 0 ? "No name" : "Name it") || entered;
  ImGui::SameLine();
  const bool close = button(ui_, "close", "Cancel", ButtonLook::kPlain) || keyPressed(ImGuiKey_Escape);
  if (done) commands.post(LibraryCommand{LibraryCommand::Action::kName, item_, name_.data()});
  if (done || close) ImGui::CloseCurrentPopup();
  endDialog();
}

void LibraryDialogs::drawForget(Commands& commands) {
  if (std::exchange(opens_forget_, false)) ImGui::OpenPopup(kForgetTitle);
  if (!beginDialog(ui_, kForgetTitle, 460)) return;
  label(ui_.theme.text, "Forget " + displayText(what_, 60) + "?", ui_.fonts.strong);
  paragraph(ui_.theme.dim, loss_ + " This cannot be taken back. No file of yours is touched.");
  ImGui::Dummy({1, ui_.px(6)});
  const bool done = confirmButton(ui_, "forget", "Forget");
  ImGui::SameLine();
  const bool close = button(ui_, "close", "Keep", ButtonLook::kPlain) || keyPressed(ImGuiKey_Escape);
  if (done) commands.post(LibraryCommand{LibraryCommand::Action::kForget, item_, ""});
  if (done || close) ImGui::CloseCurrentPopup();
  endDialog();
}

}  // namespace ipex_studio
