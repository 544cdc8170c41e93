// See open_model.h.
#include "studio/session/open_model.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "profiler/text.h"
#include "studio/flags/flags_in_force.h"
#include "studio/job/session_worker.h"
#include "studio/protocol/sandbox.h"
#include "studio/session/run_flags.h"

namespace ipex_studio {
namespace {

std::string overrideText(const PrecisionOverride& override) { return override.what + "=" + override.precision; }

// The precision to optimize the whole model for, so that everything decided is possible.
Precision commonPrecision(Precision base, const std::vector<PrecisionOverride>& overrides) {
  const auto wants = [&](const char* precision) {
    return std::any_of(overrides.begin(), overrides.end(),
                       [&](const PrecisionOverride& o) { return o.precision == precision; });
  };
  if (base == Precision::kFp32 && wants("int8")) return Precision::kInt8;
  if (base == Precision::kFp32 && wants("bf16")) return Precision::kBf16;
  if (base == Precision::kFp32 && wants("fp16")) return Precision::kFp16;
  return base;
}

}  // namespace

bool isDatabaseFile(const std::string& path) {
  constexpr char kMagic[] = "SQLite format 3";
  char head[sizeof kMagic] = {};
  std::ifstream file(path, std::ios::binary);
  file.read(head, sizeof head);
  return file.gcount() == sizeof head && std::string(head) == kMagic;
}

OpenModel::OpenModel(SessionOptions options, Reporter& reporter, const Cancellation& cancellation)
    : reporter_(reporter), cancellation_(cancellation), options_(std::move(options)) {}

void OpenModel::choose(const std::string& path) {
  if (path == options_.file) return;
  options_.file = path;
  options_.request.inputs.clear();
  options_.request.inputs_path.clear();
  options_.request.optimize.quantization_recipe.clear();
  options_.request.data = DataRequest();
}

void OpenModel::load() {
  work_.file = options_.file;
  model_ = std::make_unique<CheckedModel>(openModel(options_.file, options_.worker, cancellation_));
  options_.request.remote = !model_->worker.empty();
  options_.request.abilities = model_->abilities;
  work_.remote = options_.request.remote;
  for (const Finding& finding : model_->report.findings) {
    reporter_.log(finding.dangerous ? LogLevel::kWarning : LogLevel::kInfo, finding.text);
  }
  if (!options_.request.optimize.quantization_recipe.empty()) work_.tuning.recipe = "As given on the command line.";
}

void OpenModel::close() {
  model_.reset();
  trusted_ = false;
  work_ = WorkState();
  source_.reset();
}

JobRecord OpenModel::record() const {
  JobRecord record;
  record.model.path = model_->path;
  record.model.sha256 = model_->report.sha256;
  record.model.file_bytes = model_->report.file_bytes;
  record.machine = model_->machine;
  return record;
}

void OpenModel::askInputs(const std::string& problem) {
  work_.inputs.problem = problem;
  if (!problem.empty()) ++work_.inputs.asked;
}

bool OpenModel::askTrust() {
  if (!options_.ask_trust || options_.request.trust || !model_->report.dangerous()) return false;
  JobDatabase database(options_.database_path);
  try {
    trusted_ = database.database() != nullptr && database.database()->isTrusted(model_->report.sha256);
  } catch (const Error& error) {
    reporter_.log(LogLevel::kWarning, error.what());
  }
  if (trusted_) {
    reporter_.log(LogLevel::kWarning, "This model runs without the sandbox, as it was trusted before.");
    return false;
  }
  for (const Finding& finding : model_->report.findings) {
    if (finding.dangerous) work_.trust.findings.push_back(finding.text);
  }
  work_.trust.sandbox_is_whole = options_.request.use_landlock && landlockVersion() > 0;
  reporter_.setState(JobState::kReady, "The model waits for a word on how far it is to be trusted.");
  return true;
}

void OpenModel::answerTrust(bool trusted) {
  work_.trust = TrustQuestion();
  trusted_ = trusted;
  if (!trusted_) return;
  JobDatabase database(options_.database_path);
  if (database.database() != nullptr) database.database()->trust(model_->report.sha256);
}

JobRequest OpenModel::trustedRequest() const {
  JobRequest request = options_.request;
  request.trust = request.trust || trusted_;
  return request;
}

JobRequest OpenModel::requestWith(const Overrides& decisions, JobDatabase& database) const {
  JobRequest request = trustedRequest();
  request.command = "studio";
  if (request.inputs.empty() && request.inputs_path.empty())
    request.remembered = database.rememberedInputs(model_->report.sha256);
  OptimizeOptions& optimize = request.optimize;
  if (!decisions.pins.empty() && optimize.tune == TuneMode::kOff) optimize.tune = TuneMode::kQuick;
  if (optimize.tune != TuneMode::kOff) optimize.tuning_record = database.rememberedTuning();
  if (!decisions.pins.empty()) optimize.tuning_record = pinnedTuning(optimize.tuning_record, decisions.pins);
  // A decision for everything sets the precision of the whole model and replaces all before it.
  std::vector<PrecisionOverride> decided = decisions.precisions;
  const auto all =
      std::find_if(decided.rbegin(), decided.rend(), [](const PrecisionOverride& o) { return o.what == "*"; });
  if (all != decided.rend()) {
    optimize.precision = precisionFromName(all->precision).value_or(optimize.precision);
    decided.erase(decided.begin(), all.base());
  }
  const Precision base = optimize.precision;
  if (!decisions.empty())
    request.decisions = decisionRecords(decisions, precisionName(options_.request.optimize.precision));
  optimize.precision = commonPrecision(base, decided);
  if (optimize.precision != base) optimize.precision_overrides.push_back("*=fp32");
  for (const PrecisionOverride& override : decided) optimize.precision_overrides.push_back(overrideText(override));
  return request;
}

bool OpenModel::takeFlags(const std::string& words) {
  try {
    if (!model_) throw Error(ExitCode::kUsage, "Open a model first; recorded runs cannot be run again.");
    RunFlags flags = readRunFlags(words, options_.request);
    options_.request = std::move(flags.request);
    work_.prepared = flags.prepared;
    work_.flags_answer = {work_.flags_answer.number + 1, ""};
  } catch (const Error& error) {
    // After wrong words the user can try again.
    work_.flags_answer = {work_.flags_answer.number + 1, error.what()};
    reporter_.log(LogLevel::kError, error.what());
    reporter_.setState(reporter_.latest()->status.state, error.what());
    return false;
  }
  reporter_.log(LogLevel::kInfo, words.empty() ? "No further flags." : fmt::format("Flags: {}", words));
  return true;
}

void OpenModel::takeInputs(const std::vector<std::string>& inputs, bool of_point) {
  options_.request.inputs = inputs;
  work_.inputs.taken = of_point ? inputs : std::vector<std::string>();
}

std::string OpenModel::dropFlag(const std::string& name) {
  if (name == "--input") {
    takeInputs({}, false);
    return "The next run has the inputs of the last one.";
  }
  if (!resetFlag(name, &options_.request)) throw Error(ExitCode::kUsage, fmt::format("{} is no flag of a run.", name));
  // The text and the list that were read from files go with them.
  if (name == "--recipe") setRecipe("", "");
  if (name == "--only-ops") options_.request.only_ops.clear();
  if (name == "--preprocess") options_.request.data.preprocess.clear();
  work_.prepared = work_.prepared && options_.request.prepared;
  return fmt::format("{} is left out from the next run on.", name);
}

WorkState OpenModel::work() const {
  WorkState work = work_;
  work.measures_at_once = options_.measure_at_once;
  if (!loaded()) return work;
  for (FlagInForce& flag : flagsInForce(options_.request)) {
    work.flags += (work.flags.empty() ? "" : " ") + flag.words;
    work.flags_in_force.push_back({std::move(flag.name), std::move(flag.words)});
  }
  return work;
}

void OpenModel::setRecipe(const std::string& recipe, const std::string& source) {
  options_.request.optimize.quantization_recipe = recipe;
  work_.tuning.recipe = source;
}

void OpenModel::showRecorded(const JobRecord& job) {
  work_.recorded_at = dateText(job.started_unix_ns);
  if (::access(job.model.path.c_str(), R_OK) == 0) work_.recorded_model = job.model.path;
}

}  // namespace ipex_studio
