// Commands of a session about trust and exports: a file is written, then read again and compared with the original.
#include <fmt/format.h>

#include <filesystem>

#include "core/plan/prepared_weights.h"
#include "studio/job/session_request.h"
#include "studio/protocol/sandbox.h"
#include "studio/session/session.h"

namespace ipex_studio {

bool Session::askTrust() {
  if (!options_.ask_trust || options_.request.trust || !model_->report.dangerous()) return false;
  JobDatabase database(options_.database_path);
  try {
    trusted_ = database.database() != nullptr && database.database()->isTrusted(model_->report.sha256);
  } catch (const Error& error) {
    log(LogLevel::kWarning, error.what());
  }
  if (trusted_) {
    log(LogLevel::kWarning, "This model runs without the sandbox, as it was trusted before.");
    return false;
  }
  for (const Finding& finding : model_->report.findings) {
    if (finding.dangerous) parts_.work.trust.findings.push_back(finding.text);
  }
  parts_.work.trust.sandbox_is_whole = options_.request.use_landlock && landlockVersion() > 0;
  setState(JobState::kReady, "The model waits for a word on how far it is to be trusted.");
  return true;
}

void Session::answerTrust(TrustAnswer answer) {
  if (!model_ || !parts_.work.trust.asked()) return;
  parts_.work.trust = TrustQuestion();
  if (answer == TrustAnswer::kRefuse) {
    closeModel();
    parts_.status = JobStatus();
    publishRecord(JobRecord());
    return;
  }
  trusted_ = answer == TrustAnswer::kTrust;
  if (trusted_) {
    JobDatabase database(options_.database_path);
    if (database.database() != nullptr) database.database()->trust(model_->report.sha256);
  }
  startJob();
}

void Session::prepareExport(const ExportCommand& command) {
  OptimizeOptions& optimize = options_.request.optimize;
  const Precision precision = command.precision.value_or(optimize.precision);
  TuneMode tune = optimize.tune;
  if (command.tuned) tune = !*command.tuned ? TuneMode::kOff : tune == TuneMode::kOff ? TuneMode::kQuick : tune;
  const bool same =
      job_ && precision == optimize.precision && tune == optimize.tune && overrides_.now() == measured_overrides_;
  if (same) return;
  optimize.precision = precision;
  optimize.tune = tune;
  startJob();
}

void Session::exportModel(const ExportCommand& command) {
  ExportResult& result = parts_.work.exported;
  result = ExportResult();
  result.path = command.path;
  result.form = command.form;
  const bool prepared = command.prepared && command.form == ExportForm::kCompiled;
  const auto failed = [&](const Error& error) {
    result.state = ExportResult::State::kFailed;
    result.problem = error.what();
  };
  if (!model_) throw Error(ExitCode::kUsage, "There is nothing to export yet; open a model and optimize it first.");
  try {
    JobRequest wanted = options_.request;
    wanted.optimize.precision = command.precision.value_or(wanted.optimize.precision);
    checkForm(wanted, command.form);
    checkOutputPath(command.path);
  } catch (const Error& error) {
    // A wrong name costs nothing but another try.
    failed(error);
    log(LogLevel::kError, error.what());
    setState(JobState::kDone, error.what());
    return;
  }
  result.state = ExportResult::State::kWriting;
  setState(JobState::kWorking, "");
  try {
    prepareExport(command);
    setState(JobState::kWorking, "");
    job_->exportTo(command.path, command.form, prepared);
  } catch (const Error& error) {
    failed(error);
    throw;
  }
  std::error_code ignored;
  result.bytes = static_cast<std::int64_t>(std::filesystem::file_size(command.path, ignored));
  if (prepared)
    result.prepared_bytes =
        static_cast<std::int64_t>(std::filesystem::file_size(command.path + kPreparedSuffix, ignored));
  log(LogLevel::kInfo, fmt::format("Exported to {}.", command.path));
  result.state = ExportResult::State::kVerifying;
  publishStatus();
  verifyExport();
  log(result.problem.empty() ? LogLevel::kInfo : LogLevel::kError,
      result.problem.empty() ? "The file's results are right." : result.problem);
  setState(JobState::kDone, result.problem.empty() ? fmt::format("Exported to {}; its results are right.", command.path)
                                                   : result.problem);
}

// The file as another program would load it. What goes wrong leaves the job as it is.
void Session::verifyExport() {
  ExportResult& result = parts_.work.exported;
  if (!model_->worker.empty()) {
    // The original is not on this machine: the worker has verified the model that it wrote this file from.
    result.accuracy = job_->job().runs.back().accuracy;
    result.state = ExportResult::State::kDone;
    return;
  }
  try {
    const CheckedModel written = checkModel(result.path);
    JobRequest request = options_.request;
    request.trust = request.trust || trusted_;
    request.force_precision = true;
    request.data = DataRequest();
    if (request.inputs_path.empty()) {
      request.inputs.clear();
      for (const InputRecord& input : job_->job().model.inputs) request.inputs.push_back(inputText(input));
    }
    const auto records = verifyFiles(*model_, written, request, *this, cancellation_);
    result.accuracy = records.front();
    result.state = ExportResult::State::kDone;
    if (!result.accuracy->pass)
      result.problem =
          fmt::format("The results of {} differ too much from the model's ({}).", result.path, result.accuracy->text);
  } catch (const Error& error) {
    result.problem = fmt::format("Exported to {}, but not verified. {}", result.path, error.what());
  }
  if (!result.problem.empty()) result.state = ExportResult::State::kFailed;
}

}  // namespace ipex_studio
