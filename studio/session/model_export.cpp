// See model_export.h.
#include "studio/session/model_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "core/plan/prepared_weights.h"
#include "studio/job/outputs.h"
#include "studio/snapshot/snapshot_index.h"

namespace ipex_studio {
namespace {

std::vector<std::string> writtenBy(const ExportCommand& command) {
  std::vector<std::string> paths{command.path};
  if (command.prepared && command.form == ExportForm::kCompiled) paths.push_back(command.path + kPreparedSuffix);
  return paths;
}

bool anyTaken(const std::vector<std::string>& paths) { return std::any_of(paths.begin(), paths.end(), isTaken); }

}  // namespace

void ModelExport::prepare(const ExportCommand& command) {
  OptimizeOptions& optimize = model_.request().optimize;
  if (command.precision) decisions_.chooseWhole(precisionName(*command.precision));
  // A decision for the whole model stands before the request's precision.
  const bool decided = !decisions_.now().whole().empty();
  const Precision precision = decided ? optimize.precision : command.precision.value_or(optimize.precision);
  TuneMode tune = optimize.tune;
  if (command.tuned) tune = !*command.tuned ? TuneMode::kOff : tune == TuneMode::kOff ? TuneMode::kQuick : tune;
  const bool same =
      runner_.hasJob() && precision == optimize.precision && tune == optimize.tune && decisions_.areMeasured();
  if (same) return;
  optimize.precision = precision;
  optimize.tune = tune;
  runner_.start();
}

void ModelExport::run(const ExportCommand& command) {
  result_ = ExportResult();
  result_.path = command.path;
  result_.form = command.form;
  result_.library = operatorsLibrary();
  const bool prepared = command.prepared && command.form == ExportForm::kCompiled;
  const auto failed = [&](const Error& error) {
    result_.state = ExportResult::State::kFailed;
    result_.problem = error.what();
  };
  if (!model_.loaded()) {
    failed(Error(ExitCode::kUsage, "There is nothing to export yet; open a model and optimize it first."));
    reporter_.log(LogLevel::kError, result_.problem);
    reporter_.publishStatus();
    return;
  }
  try {
    JobRequest wanted = model_.request();
    wanted.optimize.precision = command.precision.value_or(wanted.optimize.precision);
    checkForm(wanted, command.form);
    checkOutputs({writtenBy(command), {model_.file(), model_.request().inputs_path, model_.databasePath()}, true}, "");
  } catch (const Error& error) {
    // After a wrong name the user can try again.
    failed(error);
    reporter_.log(LogLevel::kError, error.what());
    reporter_.setState(JobState::kDone, error.what());
    return;
  }
  if (!command.replace && anyTaken(writtenBy(command))) {
    result_.state = ExportResult::State::kAsked;
    reporter_.setState(JobState::kDone, fmt::format("{} exists already; say whether to replace it.", command.path));
    return;
  }
  result_.state = ExportResult::State::kWriting;
  reporter_.setState(JobState::kWorking, "");
  try {
    prepare(command);
    reporter_.setState(JobState::kWorking, "");
    runner_.job()->exportTo(command.path, command.form, prepared);
  } catch (const Error& error) {
    failed(error);
    throw;
  }
  std::error_code ignored;
  result_.path = std::filesystem::absolute(command.path).lexically_normal().string();
  result_.bytes = static_cast<std::int64_t>(std::filesystem::file_size(command.path, ignored));
  if (prepared)
    result_.prepared_bytes =
        static_cast<std::int64_t>(std::filesystem::file_size(command.path + kPreparedSuffix, ignored));
  reporter_.logWritten(fmt::format("Exported to {} ({}).", command.path, formatBytes(result_.bytes)), result_.path);
  result_.state = ExportResult::State::kVerifying;
  reporter_.publishStatus();
  verify();
  const std::string end =
      result_.problem.empty() ? fmt::format("Exported to {}; its results are right.", command.path) : result_.problem;
  if (result_.problem.empty()) reporter_.logWritten(end, result_.path);
  if (!result_.problem.empty()) reporter_.log(LogLevel::kError, end);
  reporter_.setState(JobState::kDone, end);
}

void ModelExport::verify() {
  const CheckedModel& original = model_.checked();
  const JobRecord& job = runner_.job()->job();
  if (!original.worker.empty()) {
    // The original is not on this machine: the worker has verified the model that it wrote this file from.
    result_.accuracy = job.runs.back().accuracy;
    result_.state = ExportResult::State::kDone;
    return;
  }
  try {
    const CheckedModel written = checkModel(result_.path);
    JobRequest request = model_.trustedRequest();
    request.force_precision = true;
    request.data = DataRequest();
    if (request.inputs_path.empty()) {
      request.inputs.clear();
      for (const InputRecord& input : job.model.inputs) request.inputs.push_back(inputText(input));
    }
    const FileVerdict verdict = verifyFiles(original, written, request, reporter_, cancellation_);
    result_.accuracy = verdict.records.front();
    result_.load_ns = verdict.load_ns;
    result_.first_run_ns = verdict.first_run_ns;
    result_.state = ExportResult::State::kDone;
    if (!result_.accuracy->pass)
      result_.problem =
          fmt::format("The results of {} differ too much from the model's ({}).", result_.path, result_.accuracy->text);
  } catch (const Error& error) {
    result_.problem = fmt::format("Exported to {}, but not verified. {}", result_.path, error.what());
  }
  if (!result_.problem.empty()) result_.state = ExportResult::State::kFailed;
}

}  // namespace ipex_studio
