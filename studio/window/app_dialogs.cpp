// See app_dialogs.h.
#include "studio/window/app_dialogs.h"

#include <algorithm>
#include <utility>

#include "studio/ui/imgui_compat.h"

namespace ipex_studio {
namespace {

constexpr const char* kTrustTitle = "Trust";
constexpr std::size_t kMaxFindings = 8;
constexpr std::pair<const char*, TuneGoal> kTuneActions[] = {{"tune.quantize", TuneGoal::kQuantize},
                                                             {"tune.search", TuneGoal::kSearch},
                                                             {"tune.calibrate", TuneGoal::kCalibrate},
                                                             {"tune.kernels", TuneGoal::kKernels}};

std::string withFlag(const std::string& flags, const char* flag) {
  if (flags.find(flag) != std::string::npos) return flags;
  return flags.empty() ? flag : flags + ' ' + flag;
}

}  // namespace

void AppDialogs::draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) {
  if (selection.take("file.open")) {
    const std::string& file = snapshot.work.file;
    files_.open("Open a model or recorded runs", FileWish::kModel,
                !file.empty() || ui_.recent == nullptr || ui_.recent->empty() ? file : ui_.recent->front());
  }
  if (selection.take("file.sample")) commands.post(OpenSampleCommand{});
  for (const auto& [action, goal] : kTuneActions) {
    if (selection.take(action)) tuning_.open(goal);
  }
  if (selection.take("verify.first-wrong")) commands.post(FirstWrongNodeCommand{});
  if (selection.take("tune.evaluation")) commands.post(FlagsCommand{withFlag(snapshot.work.flags, "--evaluation")});
  if (files_.draw()) commands.post(OpenCommand{files_.path()});
  tuning_.draw(snapshot, selection, commands);
  drawTrust(snapshot, commands);
}

void AppDialogs::drawTrust(const StudioSnapshot& snapshot, Commands& commands) {
  const TrustQuestion& question = snapshot.work.trust;
  if (!question.asked()) answered_ = false;
  if (question.asked() && !answered_ && !ImGui::IsPopupOpen(kTrustTitle)) ImGui::OpenPopup(kTrustTitle);
  if (!beginDialog(ui_, kTrustTitle, 600)) return;
  label(ui_.theme.warning, "This model can do more than compute", ui_.fonts.strong);
  ImGui::Dummy({1, ui_.px(2)});
  fittedLabel(ui_, ui_.theme.dim, displayText(snapshot.work.file, 500), ImGui::GetContentRegionAvail().x,
              ui_.fonts.mono);
  ImGui::Dummy({1, ui_.px(4)});
  for (std::size_t f = 0; f < std::min(question.findings.size(), kMaxFindings); ++f)
    paragraph(ui_.theme.text, "· " + displayText(question.findings[f], 400));
  if (question.findings.size() > kMaxFindings)
    label(ui_.theme.dim, "· and " + std::to_string(question.findings.size() - kMaxFindings) +
                             " more; ipex-studio inspect lists them.");
  ImGui::Dummy({1, ui_.px(4)});
  paragraph(ui_.theme.dim,
            question.sandbox_is_whole
                ? "In the sandbox it can read only itself and its inputs, write nowhere, and has no network."
                : "This kernel has no Landlock: the sandbox keeps it from writing and from the network, but not from "
                  "reading.");
  ImGui::Dummy({1, ui_.px(6)});
  std::optional<TrustAnswer> answer;
  if (confirmButton(ui_, "sandbox", "Run in the sandbox")) answer = TrustAnswer::kSandbox;
  ImGui::SameLine();
  if (button(ui_, "trust", "Trust and run without", ButtonLook::kPlain)) answer = TrustAnswer::kTrust;
  ImGui::SameLine();
  if (button(ui_, "refuse", "Do not run", ButtonLook::kPlain) || keyPressed(ImGuiKey_Escape))
    answer = TrustAnswer::kRefuse;
  if (answer) {
    commands.post(TrustCommand{*answer});
    answered_ = true;
  }
  if (answer || !question.asked()) ImGui::CloseCurrentPopup();
  endDialog();
}

}  // namespace ipex_studio
