// See export_dialog.h.
#include "studio/panels/dialogs/export_dialog.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/plan/prepared_weights.h"
#include "studio/snapshot/load_code.h"
#include "studio/ui/imgui_compat.h"

namespace ipex_studio {
namespace {

constexpr const char* kExportTitle = "Export";
constexpr float kFormPoints = 96;

std::string exportName(const std::string& path) {
  const std::size_t dot = path.rfind(".pt");
  return (dot == std::string::npos ? path : path.substr(0, dot)) + ".optimized.pt";
}

// Size, start and results of a file, as sentences.
std::string factsOf(const ExportResult& result) {
  std::string text = formatBytes(result.bytes);
  if (result.prepared_bytes > 0) text += fmt::format(", prepared weights {}", formatBytes(result.prepared_bytes));
  if (result.first_run_ns > 0)
    text += fmt::format(" · starts in {} (loads in {}, first result after {} more)",
                        formatTime(static_cast<double>(result.load_ns + result.first_run_ns)),
                        formatTime(static_cast<double>(result.load_ns)),
                        formatTime(static_cast<double>(result.first_run_ns)));
  const AccuracyRecord& accuracy = *result.accuracy;
  const bool equal = accuracy.sqnr_db >= kSqnrOfEqual;
  return text + (equal
                     ? std::string(". Its results are identical to the original's.")
                     : fmt::format(". Against the original: SQNR {:.0f} dB, largest difference {:.2g} absolute, {:.2g} "
                                   "relative.",
                                   accuracy.sqnr_db, accuracy.max_abs, accuracy.max_rel));
}

}  // namespace

void ExportDialog::open(const StudioSnapshot& snapshot) {
  setField(&path_, exportName(snapshot.job->model.path));
  precision_.reset();
  tuned_.reset();
  prepared_ = snapshot.work.prepared;
  opening_ = true;
}

ExportCommand ExportDialog::command() const {
  return {path_.data(), form_, precision_, tuned_, prepared_ && form_ == ExportForm::kCompiled};
}

// The work that an export needs first, as a sentence; empty if it needs none.
std::string ExportDialog::remeasured(const StudioSnapshot& snapshot) const {
  const bool precision = precision_ && *precision_ != snapshot.choices.precision;
  if (precision || (tuned_ && !*tuned_))
    return "This is not what was measured last: it is optimized, verified and measured first.";
  return {};
}

void ExportDialog::draw(const StudioSnapshot& snapshot, Commands& commands) {
  if (opening_) ImGui::OpenPopup(kExportTitle);
  opening_ = false;
  if (!beginDialog(ui_, kExportTitle, 720)) return;
  label(ui_.theme.text, "Export the optimized model", ui_.fonts.strong);
  ImGui::Dummy({1, ui_.px(6)});
  const float width = dialogLine(ui_, "to", kFormPoints);
  ImGui::SetNextItemWidth(width - buttonSize(ui_, "Browse…").x - ui_.px(8));
  if (ImGui::IsWindowAppearing()) ImGui::SetKeyboardFocusHere();
  ImGui::InputText("##path", path_.data(), path_.size());
  tabField(ui_);
  ImGui::SameLine(0, ui_.px(8));
  if (button(ui_, "browse", "Browse…", ButtonLook::kPlain)) browser_.open("Export to", FileWish::kSave, path_.data());
  drawForm(snapshot);
  drawPrecision(snapshot);
  ImGui::Dummy({1, ui_.px(4)});
  const std::string first = remeasured(snapshot);
  if (!first.empty()) paragraph(ui_.theme.dim, first);
  const ExportResult& result = snapshot.work.exported;
  if (result.state == ExportResult::State::kAsked && result.path == path_.data()) {
    drawQuestion(result, commands);
  } else {
    drawResult(snapshot, commands);
  }
  ImGui::Dummy({1, ui_.px(6)});
  const std::string why = path_[0] == 0 ? "Say first which file to write." : whyNotStart(snapshot);
  if (confirmButton(ui_, "write", "Export and verify", why)) commands.post(command());
  ImGui::SameLine();
  const bool escape = keyPressed(ImGuiKey_Escape) && ImGui::IsWindowFocused();
  if (button(ui_, "close", "Close", ButtonLook::kPlain) || escape) ImGui::CloseCurrentPopup();
  if (browser_.draw()) setField(&path_, browser_.path());
  endDialog();
}

void ExportDialog::drawForm(const StudioSnapshot& snapshot) {
  const Precision precision = precision_.value_or(snapshot.choices.precision);
  const bool portable = precision != Precision::kFp16;
  if (!portable) form_ = ExportForm::kCompiled;
  dialogLine(ui_, "form", kFormPoints);
  const auto choice = [&](ExportForm form, const char* name, const char* why_not) {
    if (button(ui_, name, name, form_ == form ? ButtonLook::kChosen : ButtonLook::kQuiet, std::string(why_not)))
      form_ = form;
  };
  choice(ExportForm::kCompiled, "compiled", "");
  ImGui::SameLine(0, ui_.px(4));
  choice(ExportForm::kPortable, "portable",
         portable ? "" : "Stock PyTorch computes no FP16 on CPUs in all versions that read such a file.");
  dialogLine(ui_, "", kFormPoints);
  paragraph(ui_.theme.dim,
            form_ == ExportForm::kCompiled
                ? "Fastest: prepares itself for the machine it is loaded on. Needs the operator library of ipex-studio."
                : "Runs in stock PyTorch with nothing of ours; keeps the rewrites, not the fused kernels.");
}

void ExportDialog::drawPrecision(const StudioSnapshot& snapshot) {
  dialogLine(ui_, "precision", kFormPoints);
  const Precision chosen = precision_.value_or(snapshot.choices.precision);
  bool first = true;
  for (const PrecisionChoice& choice : snapshot.choices.precisions) {
    const bool recipe = choice.precision != Precision::kInt8 || !snapshot.work.tuning.recipe.empty();
    if (!choice.available || !recipe) continue;
    if (!first) ImGui::SameLine(0, ui_.px(4));
    first = false;
    const char* text = precisionLabel(choice.precision);
    if (button(ui_, text, text, choice.precision == chosen ? ButtonLook::kChosen : ButtonLook::kQuiet))
      precision_ = choice.precision;
  }
  dialogLine(ui_, "kernels", kFormPoints);
  const bool tuned = tuned_.value_or(true);
  if (button(ui_, "tuned", "as measured here", tuned ? ButtonLook::kChosen : ButtonLook::kQuiet)) tuned_.reset();
  ImGui::SameLine(0, ui_.px(4));
  if (button(ui_, "default", "default choice", tuned ? ButtonLook::kQuiet : ButtonLook::kChosen)) tuned_ = false;
  dialogLine(ui_, "weights", kFormPoints);
  const bool possible = form_ == ExportForm::kCompiled, prepared = prepared_ && possible;
  if (button(ui_, "inside", "in the file", prepared ? ButtonLook::kQuiet : ButtonLook::kChosen)) prepared_ = false;
  ImGui::SameLine(0, ui_.px(4));
  if (button(ui_, "prepared", "also prepared beside it", prepared ? ButtonLook::kChosen : ButtonLook::kQuiet,
             std::string(possible ? "" : "A portable file is read by stock PyTorch, which prepares its own.")))
    prepared_ = true;
  if (!prepared) return;
  dialogLine(ui_, "", kFormPoints);
  paragraph(ui_.theme.dim, fmt::format("A second file, {}, as this machine's kernels read them: programs start sooner "
                                       "and share them. About as large again{}; elsewhere it is ignored.",
                                       kPreparedSuffix,
                                       snapshot.job->model.file_bytes > 0
                                           ? " (the model: " + formatBytes(snapshot.job->model.file_bytes) + ")"
                                           : ""));
}

void ExportDialog::drawQuestion(const ExportResult& result, Commands& commands) const {
  ImGui::Dummy({1, ui_.px(4)});
  hairline(ui_);
  ImGui::Dummy({1, ui_.px(4)});
  label(ui_.theme.warning, "This file exists already. Replace it?", ui_.fonts.strong);
  fittedLabel(ui_, ui_.theme.dim, displayText(result.path, 500), ImGui::GetContentRegionAvail().x, ui_.fonts.mono);
  ImGui::Dummy({1, ui_.px(2)});
  if (!button(ui_, "replace", "Replace it", ButtonLook::kPlain)) return;
  ExportCommand again = command();
  again.replace = true;
  commands.post(again);
}

void ExportDialog::drawResult(const StudioSnapshot& snapshot, Commands& commands) {
  const ExportResult& result = snapshot.work.exported;
  using State = ExportResult::State;
  if (result.state == State::kNone || result.state == State::kAsked) return;
  ImGui::Dummy({1, ui_.px(4)});
  hairline(ui_);
  ImGui::Dummy({1, ui_.px(4)});
  const float width = ImGui::GetContentRegionAvail().x;
  if (result.state == State::kWriting || result.state == State::kVerifying) {
    const std::string stage = snapshot.status.stage.empty() ? "working" : displayText(snapshot.status.stage, 60);
    label(ui_.theme.text, (result.state == State::kWriting ? "Exporting: " : "Verifying what was written: ") + stage);
    return;
  }
  const bool good = result.state == State::kDone;
  label(good ? ui_.theme.good : ui_.theme.bad, good ? "ok · written and verified" : "not exported, or not right",
        ui_.fonts.strong);
  fittedLabel(ui_, ui_.theme.dim, displayText(result.path, 500), width, ui_.fonts.mono);
  if (!result.problem.empty()) message(ui_, ui_.theme.text, displayText(result.problem, 600));
  if (!result.accuracy) return;
  message(ui_, ui_.theme.text, factsOf(result));
  if (!good) return;
  if (link(ui_, "folder", "Open folder")) commands.post(OpenFolderCommand{result.path});
  ImGui::SameLine(0, ui_.px(14));
  if (link(ui_, "copy path", "Copy path")) ImGui::SetClipboardText(result.path.c_str());
  drawCode(result, snapshot.job->model.inputs);
}

// Draws the lines that load the file in another program; they can be marked and copied.
void ExportDialog::drawCode(const ExportResult& result, const std::vector<InputRecord>& inputs) {
  ImGui::Dummy({1, ui_.px(6)});
  const float y = ImGui::GetCursorPosY();
  ImGui::SetCursorPosY(y + std::floor(ui_.px(4)));
  label(ui_.theme.dim, "Load it from");
  ImGui::SetCursorPosY(y);
  for (const bool cpp : {false, true}) {
    ImGui::SameLine(0, ui_.px(cpp ? 2 : 10));
    const char* name = cpp ? "C++" : "Python";
    if (button(ui_, name, name, cpp == cpp_ ? ButtonLook::kChosen : ButtonLook::kQuiet, ui_.fonts.head)) cpp_ = cpp;
  }
  std::string code = cpp_ ? cppCode(result, inputs) : pythonCode(result, inputs);
  ImGui::SameLine(0, ui_.px(10));
  if (button(ui_, "copy code", "Copy", ButtonLook::kQuiet, ui_.fonts.head)) ImGui::SetClipboardText(code.c_str());
  const auto lines = static_cast<float>(std::count(code.begin(), code.end(), '\n'));
  ImGui::PushFont(ui_.fonts.mono);
  ImGui::InputTextMultiline("##code", code.data(), code.size() + 1,
                            {ImGui::GetContentRegionAvail().x, ImGui::GetTextLineHeight() * (lines + 1) + ui_.px(16)},
                            ImGuiInputTextFlags_ReadOnly);
  tabField(ui_);
  ImGui::PopFont();
}

}  // namespace ipex_studio
