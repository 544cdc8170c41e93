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
constexpr const char* kMethods[] = {"auto", "min-max", "percentile", "kl", "mse"};
constexpr const char* kMetrics[] = {"by the data", "top-1", "top-5", "mse", "cosine", "sqnr"};

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
     "and measures it against the model as it is."},
    {TuneGoal::kSearch, "search", "Search precisions",
     "Tries each operation alone in INT8, then whole assignments, each built, timed and judged on the data. The "
     "fastest within the budget is taken; "
     "all of them show as points in the Precision tab while the search runs."},
    {TuneGoal::kCalibrate, "calibrate", "Calibrate only",
     "Runs samples through the model and keeps the recipe for INT8, for this session and, where you give a name, as a "
     "file."},
    {TuneGoal::kKernels, "kernels", "Tune kernels",
     "Measures all kernels and layouts of every step at length, about a minute, and keeps the fastest. Needs no data; "
     "what was measured is remembered."},
};

const Goal& goalOf(TuneGoal goal) {
  return *std::find_if(std::begin(kGoals), std::end(kGoals), [&](const Goal& g) { return g.goal == goal; });
}

// False if the text is no number in [low, high].
bool readNumber(const char* text, double low, double high, double* value) {
  char* end = nullptr;
  *value = std::strtod(text, &end);
  return end != text && *end == 0 && std::isfinite(*value) && *value >= low && *value <= high;
}

}  // namespace

void TuningDialog::open(TuneGoal goal) {
  goal_ = goal;
  opening_ = true;
}

TuneCommand TuningDialog::command(bool restart) const {
  TuneCommand command;
  command.goal = goal_;
  if (goal_ == TuneGoal::kKernels) return command;
  command.data = data_.data();
  command.preprocess = preprocess_.data();
  if (goal_ == TuneGoal::kQuantize) command.recipe = recipe_.data();
  command.save_recipe = save_recipe_.data();
  command.method = kMethods[method_];
  command.metric = metric_ == 0 ? "" : kMetrics[metric_];
  double value = 0;
  if (readNumber(samples_.data(), 0, 1e12, &value)) command.samples = static_cast<std::int64_t>(value);
  if (goal_ == TuneGoal::kSearch) {
    if (readNumber(drop_.data(), 0, 1, &value)) command.max_drop = value;
    if (readNumber(sqnr_.data(), 0, 200, &value)) command.min_sqnr_db = value;
    if (readNumber(budget_.data(), 1, 1e7, &value)) command.time_budget_s = value;
  }
  command.restart = restart;
  return command;
}

std::string TuningDialog::problem() const {
  if (goal_ == TuneGoal::kKernels) return {};
  double value = 0;
  const bool recipe = goal_ == TuneGoal::kQuantize && recipe_[0] != 0;
  if (data_[0] == 0 && !recipe) return "Say which data to use.";
  if (samples_[0] != 0 && !readNumber(samples_.data(), 0, 1e12, &value))
    return "Samples are a whole number; leave it empty for as many as is usual.";
  if (goal_ != TuneGoal::kSearch) return {};
  if (!readNumber(drop_.data(), 0, 1, &value))
    return "The most that may be lost is a share: 0.01 is one percent of the samples.";
  if (!readNumber(sqnr_.data(), 0, 200, &value)) return "The least SQNR is in decibels, 0 to 200.";
  if (!readNumber(budget_.data(), 1, 1e7, &value)) return "The time is in seconds.";
  return {};
}

void TuningDialog::draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) {
  if (opening_) ImGui::OpenPopup(kTitle);
  opening_ = false;
  if (!beginDialog(ui_, kTitle, 680)) return;
  label(ui_.theme.text, "Make it faster", ui_.fonts.strong);
  ImGui::Dummy({1, ui_.px(4)});
  drawGoals(snapshot);
  if (goal_ != TuneGoal::kKernels) drawData(snapshot.work.remote);
  if (goal_ == TuneGoal::kSearch) drawBudget();
  drawFoot(snapshot, selection, commands);
  if (browser_.draw() && browsed_ != nullptr) setField(browsed_, browser_.path());
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

void TuningDialog::pathField(const char* id, const char* text, const char* hint, Field* field, FileWish wish) {
  ImGui::PushID(id);
  const float width = dialogLine(ui_, text, kLinePoints);
  ImGui::SetNextItemWidth(width - buttonSize(ui_, "Browse…").x - ui_.px(8));
  ImGui::InputTextWithHint("##field", hint, field->data(), field->size());
  ImGui::SameLine(0, ui_.px(8));
  const bool pressed = button(ui_, "browse", "Browse…", ButtonLook::kPlain);
  ImGui::PopID();
  if (!pressed) return;
  browsed_ = field;
  browser_.open(std::string("Choose: ") + text, wish, field->data());
}

void TuningDialog::number(const char* id, const char* text, const char* unit, std::array<char, 24>* field) {
  dialogLine(ui_, text, kLinePoints);
  ImGui::SetNextItemWidth(ui_.px(96));
  ImGui::InputText(id, field->data(), field->size(), ImGuiInputTextFlags_CharsDecimal);
  ImGui::SameLine(0, ui_.px(10));
  label(ui_.theme.dim, unit);
}

void TuningDialog::drawData(bool remote) {
  if (remote) {
    // There is no browser for another machine's folders.
    const float width = dialogLine(ui_, "data", kLinePoints);
    ImGui::SetNextItemWidth(width);
    ImGui::InputTextWithHint("##remote", "a path on the machine that runs the model", data_.data(), data_.size());
  } else {
    pathField("data", "data", "images in folders by class, .npy, .npz, .pt, CIFAR-10, MNIST", &data_,
              FileWish::kFileOrFolder);
  }
  pathField("preprocess", "preprocessing", "a TOML file with resize, crop, mean, std; empty: pixels to 0..1",
            &preprocess_, FileWish::kFile);
  number("##samples", "samples", "empty: 1000 to calibrate on, all to judge on", &samples_);
  const auto choice = [&](const char* text, const char* const* names, int count, int* chosen) {
    dialogLine(ui_, text, kLinePoints);
    for (int n = 0; n < count; ++n) {
      if (n > 0) ImGui::SameLine(0, ui_.px(2));
      if (button(ui_, names[n], names[n], n == *chosen ? ButtonLook::kChosen : ButtonLook::kQuiet, true,
                 ui_.fonts.head))
        *chosen = n;
    }
  };
  choice("ranges", kMethods, static_cast<int>(std::size(kMethods)), &method_);
  if (goal_ != TuneGoal::kCalibrate) choice("judged by", kMetrics, static_cast<int>(std::size(kMetrics)), &metric_);
  if (goal_ == TuneGoal::kQuantize)
    pathField("recipe", "recipe", "empty: calibrate now; or a recipe, or an int8_conf.json", &recipe_, FileWish::kFile);
  pathField("save", "save recipe as", "empty: kept while the studio is open", &save_recipe_, FileWish::kSave);
}

void TuningDialog::drawBudget() {
  number("##drop", "may be lost", "of the metric: 0.01 is one percent of the samples", &drop_);
  number("##sqnr", "least SQNR", "dB, where the data has no labels", &sqnr_);
  number("##budget", "time", "s, about", &budget_);
}

void TuningDialog::drawFoot(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) {
  ImGui::Dummy({1, ui_.px(6)});
  const TuningState& state = snapshot.work.tuning;
  const std::string wrong = !state.possible ? "Open a model first; recorded runs cannot be tuned." : problem();
  const bool waits =
      goal_ == TuneGoal::kSearch ? state.search_waits : goal_ != TuneGoal::kKernels && state.calibration_waits;
  if (!wrong.empty()) {
    label(ui_.theme.warning, wrong);
  } else if (waits) {
    label(ui_.theme.dim, "An interrupted one is kept and goes on with the same data and choices.");
  }
  ImGui::Dummy({1, ui_.px(2)});
  const bool working = snapshot.status.state == JobState::kWorking;
  bool start = confirmButton(ui_, "start", waits ? "Go on" : "Start", wrong.empty() && !working);
  bool restart = false;
  if (waits) {
    ImGui::SameLine();
    restart = button(ui_, "restart", "Start anew", ButtonLook::kPlain, wrong.empty() && !working);
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
