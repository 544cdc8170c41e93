// See tuning_dialog.h.
#include "studio/panels/dialogs/tuning_dialog.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "studio/ui/imgui_compat.h"

namespace ipex_studio {
namespace {

constexpr const char* kTitle = "Tune";
constexpr float kLinePoints = 128;
constexpr std::size_t kNumberBytes = 24;

struct Goal {
  TuneGoal goal;
  const char* id;
  const char* name;
  const char* meaning;
};
constexpr Goal kGoals[] = {
    {TuneGoal::kQuantize, "quantize", "Quantize",
     "Runs samples through the model to see which values occur, then computes what gains from it in INT8, judges the "
     "result on the same data "
     "and measures it against the baseline."},
    {TuneGoal::kSearch, "search", "Search precisions",
     "Tries each operation alone in INT8, then whole assignments, each built, timed and judged on the data. The "
     "fastest within the budget is taken; "
     "all of them show as points in the Precision tab while the search runs."},
    {TuneGoal::kCalibrate, "calibrate", "Calibrate only",
     "Runs samples through the model and keeps the recipe for INT8, for this session and, where you give a name, as a "
     "file."},
    {TuneGoal::kKernels, "kernels", "Kernels at length",
     "Measures all kernels and layouts of every step at length, about a minute, and keeps the fastest. Needs no data; "
     "what was measured is remembered."},
};

const Goal& goalOf(TuneGoal goal) {
  return *std::find_if(std::begin(kGoals), std::end(kGoals), [&](const Goal& g) { return g.goal == goal; });
}

bool isNumber(const char* text, double low, double high) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  return end != text && *end == 0 && std::isfinite(value) && value >= low && value <= high;
}

// True if nothing is wrong with what is filled in.
bool isGood(const Form& form, const char* text) {
  return form.kind != Form::Kind::kNumber || (form.may_be_empty && text[0] == 0) || isNumber(text, form.low, form.high);
}

}  // namespace

TuningDialog::TuningDialog(const Ui& ui) : ui_(ui), browser_(ui) {
  Request defaults;
  for (const FormField& field : formFields(defaults)) {
    Line line{field.form};
    if (field.form.kind == Form::Kind::kNumber && !field.form.may_be_empty) setField(&line.text, field.text());
    lines_.push_back(std::move(line));
  }
  std::sort(lines_.begin(), lines_.end(), [](const Line& a, const Line& b) { return a.form.line < b.form.line; });
}

void TuningDialog::open(TuneGoal goal) {
  goal_ = goal;
  opening_ = true;
}

TuneCommand TuningDialog::command(bool restart) const {
  TuneCommand command;
  command.goal = goal_;
  command.request.restart = restart && goal_ != TuneGoal::kKernels;
  for (const FormField& field : formFields(command.request, goal_)) {
    const Line& line = lineOf(field.form.key);
    const char* const text = line.text.data();
    if (field.form.kind == Form::Kind::kHidden) continue;
    if (field.form.kind == Form::Kind::kChoice) {
      field.set(field.form.choices[line.chosen]);
    } else if (*text != 0 && isGood(field.form, text)) {
      field.set(text);
    }
  }
  return command;
}

const TuningDialog::Line& TuningDialog::lineOf(std::string_view key) const {
  return *std::find_if(lines_.begin(), lines_.end(), [&](const Line& line) { return line.form.key == key; });
}

std::string TuningDialog::problem() const {
  if (goal_ == TuneGoal::kKernels) return {};
  const bool recipe = goal_ == TuneGoal::kQuantize && lineOf("recipe").text[0] != 0;
  if (lineOf("data").text[0] == 0 && !recipe) return "Say which data to use.";
  for (const Line& line : lines_) {
    if (taken(line) && !isGood(line.form, line.text.data())) return line.form.wrong;
  }
  return {};
}

void TuningDialog::draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) {
  if (opening_) ImGui::OpenPopup(kTitle);
  opening_ = false;
  if (!beginDialog(ui_, kTitle, 680)) return;
  label(ui_.theme.text, "Make it faster", ui_.fonts.strong);
  ImGui::Dummy({1, ui_.px(4)});
  drawGoals(snapshot);
  for (Line& line : lines_) {
    if (taken(line)) drawLine(&line, snapshot.work.remote);
  }
  drawFoot(snapshot, selection, commands);
  if (browser_.draw() && browsed_ != nullptr) setField(&browsed_->text, browser_.path());
  endDialog();
}

void TuningDialog::drawGoals(const StudioSnapshot& snapshot) {
  for (const Goal& goal : kGoals) {
    if (&goal != &kGoals[0]) ImGui::SameLine(0, ui_.px(4));
    if (button(ui_, goal.id, goal.name, goal.goal == goal_ ? ButtonLook::kChosen : ButtonLook::kQuiet))
      goal_ = goal.goal;
  }
  ImGui::Dummy({1, ui_.px(2)});
  paragraph(ui_.theme.dim, goalOf(goal_).meaning);
  if (!snapshot.work.tuning.recipe.empty() && goal_ != TuneGoal::kKernels)
    paragraph(ui_.theme.dim, "Recipe in force: " + displayText(snapshot.work.tuning.recipe, 300));
  ImGui::Dummy({1, ui_.px(6)});
}

void TuningDialog::drawLine(Line* line, bool remote) {
  switch (line->form.kind) {
    case Form::Kind::kHidden:
      return;
    case Form::Kind::kData:
      if (!remote) return drawPath(line);
      // The folders of another machine cannot be browsed.
      ImGui::SetNextItemWidth(dialogLine(ui_, line->form.name, kLinePoints));
      ImGui::InputTextWithHint("##remote", "a path on the machine that runs the model", line->text.data(),
                               line->text.size());
      tabField(ui_);
      return;
    case Form::Kind::kFile:
    case Form::Kind::kSave:
      return drawPath(line);
    case Form::Kind::kNumber:
      return drawNumber(line);
    case Form::Kind::kChoice:
      return drawChoice(line);
  }
}

void TuningDialog::drawPath(Line* line) {
  const Form& form = line->form;
  ImGui::PushID(form.key);
  const float width = dialogLine(ui_, form.name, kLinePoints);
  ImGui::SetNextItemWidth(width - buttonSize(ui_, "Browse…").x - ui_.px(8));
  ImGui::InputTextWithHint("##field", form.hint, line->text.data(), line->text.size());
  tabField(ui_);
  ImGui::SameLine(0, ui_.px(8));
  const bool pressed = button(ui_, "browse", "Browse…", ButtonLook::kPlain);
  ImGui::PopID();
  if (!pressed) return;
  browsed_ = line;
  const FileWish wish = form.kind == Form::Kind::kData   ? FileWish::kFileOrFolder
                        : form.kind == Form::Kind::kFile ? FileWish::kFile
                                                         : FileWish::kSave;
  browser_.open(std::string("Choose: ") + form.name, wish, line->text.data());
}

void TuningDialog::drawNumber(Line* line) {
  dialogLine(ui_, line->form.name, kLinePoints);
  ImGui::SetNextItemWidth(ui_.px(96));
  const std::string id = std::string("##") + line->form.key;
  ImGui::InputText(id.c_str(), line->text.data(), kNumberBytes, ImGuiInputTextFlags_CharsDecimal);
  tabField(ui_);
  ImGui::SameLine(0, ui_.px(10));
  label(ui_.theme.dim, line->form.hint);
}

void TuningDialog::drawChoice(Line* line) {
  dialogLine(ui_, line->form.name, kLinePoints);
  ImGui::PushID(line->form.key);
  for (int n = 0; n < static_cast<int>(line->form.choices.size()); ++n) {
    if (n > 0) ImGui::SameLine(0, ui_.px(2));
    const char* const name = *line->form.choices[n] != 0 ? line->form.choices[n] : line->form.hint;
    if (button(ui_, name, name, n == line->chosen ? ButtonLook::kChosen : ButtonLook::kQuiet, ui_.fonts.head))
      line->chosen = n;
  }
  ImGui::PopID();
}

void TuningDialog::drawFoot(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) {
  ImGui::Dummy({1, ui_.px(6)});
  const TuningState& state = snapshot.work.tuning;
  const std::string why = whyNotStart(snapshot);
  const std::string wrong = why.empty() ? problem() : why;
  const bool waits =
      goal_ == TuneGoal::kSearch ? state.search_waits : goal_ != TuneGoal::kKernels && state.calibration_waits;
  if (!wrong.empty()) {
    label(ui_.theme.warning, wrong);
  } else if (waits) {
    label(ui_.theme.dim, "An interrupted one is kept and goes on with the same data and choices.");
  }
  ImGui::Dummy({1, ui_.px(2)});
  bool start = confirmButton(ui_, "start", waits ? "Go on" : "Start", wrong);
  bool restart = false;
  if (waits) {
    ImGui::SameLine();
    restart = button(ui_, "restart", "Start anew", ButtonLook::kPlain, wrong);
    start = start || restart;
  }
  ImGui::SameLine();
  const bool close = button(ui_, "close", "Close", ButtonLook::kPlain);
  if (start) {
    commands.post(command(restart));
    selection.front_panel = goal_ == TuneGoal::kKernels ? "kernels" : "precision";
  }
  if (start || close || (keyPressed(ImGuiKey_Escape) && ImGui::IsWindowFocused())) ImGui::CloseCurrentPopup();
}

}  // namespace ipex_studio
