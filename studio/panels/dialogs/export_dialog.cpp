// See export_dialog.h.
#include "studio/panels/dialogs/export_dialog.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/plan/prepared_weights.h"
#include "studio/ui/imgui_compat.h"

namespace ipex_studio {
namespace {

constexpr const char* kExportTitle = "Export";
constexpr float kFormPoints = 96;

std::string exportName(const std::string& path) {
  const std::size_t dot = path.rfind(".pt");
  return (dot == std::string::npos ? path : path.substr(0, dot)) + ".optimized.pt";
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
  ImGui::InputText("##path", path_.data(), path_.size());
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
    drawResult(snapshot);
  }
  ImGui::Dummy({1, ui_.px(6)});
  const bool working = snapshot.status.state == JobState::kWorking;
  if (confirmButton(ui_, "write", "Export and verify", path_[0] != 0 && !working)) commands.post(command());
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
  const auto choice = [&](ExportForm form, const char* name, bool possible) {
    if (button(ui_, name, name, form_ == form ? ButtonLook::kChosen : ButtonLook::kQuiet, possible)) form_ = form;
  };
  choice(ExportForm::kCompiled, "compiled", true);
  ImGui::SameLine(0, ui_.px(4));
  choice(ExportForm::kPortable, "portable", portable);
  dialogLine(ui_, "", kFormPoints);
  paragraph(ui_.theme.dim,
            form_ == ExportForm::kCompiled
                ? "Fastest: prepares itself for the machine it is loaded on. Needs the operator library of ipex-studio."
                : "Runs in stock PyTorch with nothing of ours; keeps the rewrites, not the fused kernels.");
  if (!portable && ImGui::IsItemHovered())
    tooltip("Stock PyTorch computes no FP16 on CPUs in all versions that read such a file.");
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
  if (button(ui_, "prepared", "also prepared beside it", prepared ? ButtonLook::kChosen : ButtonLook::kQuiet, possible))
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

void ExportDialog::drawResult(const StudioSnapshot& snapshot) const {
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
  if (!result.problem.empty()) paragraph(ui_.theme.text, displayText(result.problem, 600));
  if (!result.accuracy) return;
  const AccuracyRecord& accuracy = *result.accuracy;
  const std::string weights = result.prepared_bytes > 0
                                  ? fmt::format(", prepared weights {}", formatBytes(result.prepared_bytes))
                                  : std::string();
  paragraph(ui_.theme.text, fmt::format("{}{}. Read again and run against the original: SQNR {}, largest difference "
                                        "{:.2g} absolute, {:.2g} relative.",
                                        formatBytes(result.bytes), weights,
                                        accuracy.sqnr_db >= kSqnrOfEqual ? std::string("identical")
                                                                         : fmt::format("{:.0f} dB", accuracy.sqnr_db),
                                        accuracy.max_abs, accuracy.max_rel));
}

}  // namespace ipex_studio
