// Steps of a script that ask the session for work, and the facts about work that `expect` knows.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "core/base/error.h"
#include "core/record/curves_record.h"
#include "core/record/request_form.h"
#include "profiler/library/library.h"
#include "studio/panels/pareto_plot.h"
#include "studio/snapshot/snapshot_advice.h"
#include "studio/window/script.h"

namespace ipex_studio {
namespace {

std::vector<std::string> wordsOf(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

[[noreturn]] void unknown(int line, const std::string& word, const std::string& choices) {
  throw Error(ExitCode::kUsage,
              fmt::format("Line {} of the script: '{}' is not known; use {}.", line, displayText(word, 80), choices));
}

// The path that a word stands for: '+' is a space, as words end at spaces.
std::string pathOf(std::string text) {
  std::replace(text.begin(), text.end(), '+', ' ');
  return text;
}

void setTune(TuneCommand* command, const std::string& key, const std::string& value, int line) {
  const std::vector<FormField> fields = formFields(command->request);
  std::string choices;
  for (const FormField& field : fields) {
    const bool path = field.form.kind == Form::Kind::kData || field.form.kind == Form::Kind::kFile ||
                      field.form.kind == Form::Kind::kSave;
    if (key == field.form.key) return field.set(path ? pathOf(value) : value);
    choices += fmt::format("{}{}", choices.empty() ? "" : &field == &fields.back() ? " or " : ", ", field.form.key);
  }
  unknown(line, key, choices);
}

// Number of models and jobs that are pinned.
std::size_t pinnedItems(const RunHistory& history) {
  const auto models = std::count_if(history.models.begin(), history.models.end(),
                                    [](const LibraryModel& model) { return model.pinned; });
  const auto jobs =
      std::count_if(history.jobs.begin(), history.jobs.end(), [](const JobSummary& job) { return job.pinned; });
  return static_cast<std::size_t>(models + jobs);
}

}  // namespace

Command trustStep(const std::string& rest, int line) {
  if (rest == "sandbox") return TrustCommand{TrustAnswer::kSandbox};
  if (rest == "trust") return TrustCommand{TrustAnswer::kTrust};
  if (rest == "refuse") return TrustCommand{TrustAnswer::kRefuse};
  unknown(line, rest, "sandbox, trust or refuse");
}

Command exportStep(const std::string& rest, int line) {
  const std::vector<std::string> words = wordsOf(rest);
  ExportCommand command;
  command.path = pathOf(words.at(0));
  for (std::size_t w = 1; w < words.size(); ++w) {
    if (words[w] == "compiled")
      command.form = ExportForm::kCompiled;
    else if (words[w] == "portable")
      command.form = ExportForm::kPortable;
    else if (words[w] == "fp32")
      command.precision = Precision::kFp32;
    else if (words[w] == "bf16")
      command.precision = Precision::kBf16;
    else if (words[w] == "int8")
      command.precision = Precision::kInt8;
    else if (words[w] == "untuned")
      command.tuned = false;
    else if (words[w] == "prepared")
      command.prepared = true;
    else if (words[w] == "replace")
      command.replace = true;
    else
      unknown(line, words[w], "compiled, portable, fp32, bf16, int8, untuned, prepared or replace");
  }
  return command;
}

Command tuneStep(const std::string& rest, int line) {
  const std::vector<std::string> words = wordsOf(rest);
  TuneCommand command;
  const std::string& goal = words.at(0);
  if (goal == "calibrate")
    command.goal = TuneGoal::kCalibrate;
  else if (goal == "quantize")
    command.goal = TuneGoal::kQuantize;
  else if (goal == "search")
    command.goal = TuneGoal::kSearch;
  else if (goal == "kernels")
    command.goal = TuneGoal::kKernels;
  else
    unknown(line, goal, "calibrate, quantize, search or kernels");
  for (std::size_t w = 1; w < words.size(); ++w) {
    const std::size_t equals = std::min(words[w].find('='), words[w].size());
    setTune(&command, words[w].substr(0, equals), equals < words[w].size() ? words[w].substr(equals + 1) : "", line);
  }
  return command;
}

Command curvesStep(const std::string& rest, int line) {
  const std::vector<std::string> words = wordsOf(rest);
  CurvesCommand command;
  command.request.time_s = std::strtod(words.at(0).c_str(), nullptr);
  if (command.request.time_s <= 0 || words.size() > 2) unknown(line, rest, "SECONDS [N,...]");
  std::istringstream sizes(words.size() > 1 ? words[1] : "");
  for (std::string size; std::getline(sizes, size, ',');) {
    command.request.batch.push_back(std::strtoll(size.c_str(), nullptr, 10));
    if (command.request.batch.back() < 1) unknown(line, size, "batch sizes of at least 1");
  }
  return command;
}

Command inputsStep(const std::string& rest, const StudioSnapshot& snapshot) {
  OptimizeCommand command{snapshot.choices.precision, snapshot.choices.threads, {}};
  for (std::size_t begin = 0; begin < rest.size();) {
    const std::size_t end = std::min(rest.find(" | ", begin), rest.size());
    command.inputs.push_back(rest.substr(begin, end - begin));
    begin = end + 3;
  }
  return command;
}

Command loadStep(const std::string& rest, int line, const StudioSnapshot& snapshot) {
  std::string quality;
  std::string names;
  for (const ParetoPoint& point : paretoPoints(snapshot, &quality)) {
    if (point.name == rest && point.decisions) return OverrideCommand{*point.decisions, false};
    names += (names.empty() ? "" : ", ") + point.name;
  }
  throw Error(ExitCode::kFailure,
              fmt::format("Line {} of the script: no point is called '{}' and can be loaded; there are: {}.", line,
                          displayText(rest, 80), displayText(names, 400)));
}

Command libraryStep(const std::string& rest, int line, const StudioSnapshot& snapshot) {
  const std::vector<std::string> words = wordsOf(rest);
  LibraryCommand command;
  if (words[0] == "name")
    command.action = LibraryCommand::Action::kName;
  else if (words[0] == "pin")
    command.action = LibraryCommand::Action::kPin;
  else if (words[0] == "unpin")
    command.action = LibraryCommand::Action::kUnpin;
  else if (words[0] == "forget")
    command.action = LibraryCommand::Action::kForget;
  else
    unknown(line, words[0], "name, pin, unpin or forget");
  command.item = findItem(snapshot.history->jobs, words.size() > 1 ? words[1] : "");
  for (std::size_t w = 2; w < words.size(); ++w) command.name += (command.name.empty() ? "" : " ") + words[w];
  return command;
}

Command compareStep(const std::string& rest, int line) {
  CompareCommand command;
  for (const std::string& word : wordsOf(rest)) {
    command.runs.push_back(std::strtoll(word.c_str(), nullptr, 10));
    if (command.runs.back() <= 0) unknown(line, word, "numbers of runs");
  }
  return command;
}

std::optional<std::string> workFact(const StudioSnapshot& snapshot, const std::string& key, const std::string& value,
                                    bool* good) {
  constexpr const char* kExports[] = {"none", "writing", "verifying", "done", "failed", "asked"};
  if (key == "export") return kExports[static_cast<std::size_t>(snapshot.work.exported.state)];
  if (key == "recipe") {
    *good = snapshot.work.tuning.recipe.find(value) != std::string::npos;
    return displayText(snapshot.work.tuning.recipe, 300);
  }
  if (key == "next") {
    const Advice* next = recommendedAdvice(snapshot.index->advice);
    const std::string text = next == nullptr ? "" : next->offer + ": " + next->text;
    *good = text.find(value) != std::string::npos;
    return displayText(text, 400);
  }
  if (key == "lamp") return noiseName(snapshot.index->noise.level);
  if (key == "stage") {
    *good = snapshot.status.stage.find(value) != std::string::npos;
    return displayText(snapshot.status.stage, 100);
  }
  std::size_t count = 0;
  if (key == "advice")
    count = snapshot.index->advice.size();
  else if (key == "models")
    count = snapshot.history->models.size();
  else if (key == "pinned")
    count = pinnedItems(*snapshot.history);
  else if (key == "compared")
    count = snapshot.comparison ? snapshot.comparison->runs.size() : 0;
  else if (key == "passes")
    count = snapshot.job->passes.size();
  else if (key == "findings")
    count = snapshot.work.trust.findings.size();
  else if (key == "tradeoffs")
    count = snapshot.job->tradeoffs.size();
  else if (key == "decisions")
    count = snapshot.overrides.now.pins.size() + snapshot.overrides.now.precisions.size();
  else if (key == "tries")
    count = snapshot.tries->size();
  else if (key == "gains")
    count = snapshot.work.pass_gains.gains.size();
  else if (key == "points")
    count = snapshot.work.curves ? snapshot.work.curves->points.size() : 0;
  else if (key == "bars")
    count = snapshot.index->waterfall.bars.size();
  else if (key == "asked")
    count = snapshot.work.inputs.asked;
  else
    return std::nullopt;
  *good = count >= std::strtoull(value.c_str(), nullptr, 10);
  return std::to_string(count);
}

}  // namespace ipex_studio
