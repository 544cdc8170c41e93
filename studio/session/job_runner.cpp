// See job_runner.h.
#include "studio/session/job_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/record/records_json.h"
#include "core/runtime/machine_facts.h"
#include "profiler/statistics.h"
#include "profiler/text.h"
#include "studio/job/session_request.h"

namespace ipex_studio {
namespace {

// A what-if must be quick: versions that cannot be told apart within this time count as "no difference".
constexpr double kTrySeconds = 0.7;
constexpr double kTryWarmupSeconds = 0.1;
constexpr double kVerdictSeconds = 4.5;
// Time for measuring kernels; steps that are not measured by then get kernels by rules of thumb.
constexpr double kTryTuneSeconds = 0.8;
constexpr std::int64_t kTrySamples = 64;

RunChoices runChoices(const JobRequest& request, std::int32_t cores) {
  RunChoices choices;
  for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kFp16, Precision::kInt8}) {
    PrecisionChoice choice;
    choice.precision = precision;
    choice.reason = whyNotPrecision(precision, request);
    choice.available = choice.reason.empty();
    if (precision == Precision::kFp16 && !choice.available)
      continue;  // few machines have it, so elsewhere the row has no room for it
    if (!choice.available) choice.reason = fmt::format("Not here: {}.", choice.reason);
    choices.precisions.push_back(std::move(choice));
  }
  choices.precision = request.optimize.precision;
  choices.max_threads = cores;
  choices.threads = request.measure.threads > 0 ? request.measure.threads : choices.max_threads;
  return choices;
}

// Kernels are chosen as they were for `previous`: by its measurements if it used them, without timing the whole plan
// again, else by rules of thumb.
void tuneLike(const RunRecord& previous, OptimizeOptions* optimize) {
  if (optimize->tune == TuneMode::kOff) return;
  const auto& dispatches = previous.dispatches;
  const bool measured = std::any_of(dispatches.begin(), dispatches.end(),
                                    [](const DispatchRecord& d) { return d.chosen && d.elapsed_ns > 0; });
  if (measured) optimize->tuning_record = trustedTuning(optimize->tuning_record);
  if (!measured) optimize->tune = TuneMode::kOff;
}

// The recipe in the options of a job; empty if it had none.
std::string recipeOf(const std::string& options) {
  try {
    const nlohmann::json all = parseRecordText(options);
    return all.at("optimize").at("quantization_recipe").get<std::string>();
  } catch (const std::exception&) {
    return "";
  }
}

std::string unrecorded(const Error& problem) { return fmt::format("The run is not recorded. {}", problem.what()); }

// The status of a job that came to its end.
JobStatus endOf(const ModelJob& job, const JobDatabase& database) {
  if (!job.accurate()) return {JobState::kFailed, "", 1, -1, job.accuracySentence(), ExitCode::kAccuracy};
  if (!database.problem()) return {JobState::kDone, "", 1, -1, ""};
  return {JobState::kDone, "", 1, -1, unrecorded(*database.problem()), ExitCode::kDatabase};
}

}  // namespace

JobRunner::JobRunner(OpenModel& model, Decisions& decisions, History& history, Trials& trials, Reporter& reporter,
                     const Cancellation& cancellation)
    : model_(model),
      decisions_(decisions),
      history_(history),
      trials_(trials),
      reporter_(reporter),
      cancellation_(cancellation),
      choices_(runChoices(model.request(), usableCores())) {}

void JobRunner::drop() {
  prepared_.reset();
  job_.reset();
}

void JobRunner::begin() {
  if (!model_.loaded()) throw Error(ExitCode::kUsage, "Open a model first; recorded runs cannot be run again.");
  if (model_.trustIsAsked()) throw Error(ExitCode::kUsage, "Say first how far this model is to be trusted.");
  const std::uint64_t taken = choices_.taken;
  choices_ = runChoices(model_.request(), std::max(1, model_.checked().machine.cores));
  choices_.taken = taken;
  reporter_.setState(JobState::kWorking, "");
  drop();
}

void JobRunner::showGraph() {
  begin();
  JobDatabase database(model_.databasePath());
  ModelJob job(model_.checked(), model_.requestWith(decisions_.now(), database), false, reporter_, cancellation_);
  job.readGraph();
  const std::vector<InputRecord>& inputs = job.job().model.inputs;
  const bool unknown =
      std::any_of(inputs.begin(), inputs.end(), [](const InputRecord& input) { return input.description.empty(); });
  model_.askInputs(unknown ? "The model does not show what to run it with." : "");
  if (database.database() != nullptr) history_.read(*database.database(), 0);
  reporter_.setState(JobState::kReady, "Nothing has run yet; Optimize (F5) measures and rewrites the model.");
  reporter_.publishRecord(job.job());
}

void JobRunner::start(PrecisionSearchResult* found) {
  begin();
  const CheckedModel& model = model_.checked();
  JobDatabase database(model_.databasePath());
  const JobRequest request = model_.requestWith(decisions_.now(), database);
  model_.askInputs("");
  job_ = std::make_unique<ModelJob>(model, request, true, reporter_, cancellation_);
  rewrite();
  for (const InputRecord& input : job_->job().model.inputs) {
    reporter_.log(input.guessed ? LogLevel::kWarning : LogLevel::kInfo,
                  fmt::format("Input {}{}", inputText(input), input.guessed ? " is a guess." : ""));
  }
  // Measurements of pinned kernels alone are of no use to other jobs.
  const auto recordTuning = [&] {
    if (decisions_.now().pins.empty()) database.recordTuning(job_->tuning());
  };
  recordTuning();
  job_->measure();
  recordTuning();  // the other precisions are optimized only by measure()
  if (found != nullptr) job_->addSearch(std::move(found->sensitivities), std::move(found->tradeoffs));
  decisions_.setMeasured();
  const auto id = database.record(*job_, request.inputs_path.empty());
  if (id) reporter_.log(LogLevel::kInfo, fmt::format("Recorded as job {} in {}.", *id, database.database()->path()));
  if (database.problem()) reporter_.log(LogLevel::kError, unrecorded(*database.problem()));
  if (database.database() != nullptr) {
    if (found != nullptr) trials_.expire();
    readPast(*database.database(), id.value_or(0));
  }
  measurePeaksOf(model.machine, choices_.threads);
  reporter_.setStatus(endOf(*job_, database));
  prepareTry(database);
  reporter_.publishRecord(job_->job());
}

// Rewrites the model and runs it once. Where its inputs keep it from running, the user is asked for others beside the
// graph as far as that is known.
void JobRunner::rewrite() {
  try {
    job_->optimize();
  } catch (const Error& error) {
    if (job_->inputsRefused()) model_.askInputs(error.what());
    reporter_.publishRecord(job_->job());
    throw;
  }
}

void JobRunner::readPast(const Database& database, std::int64_t id) {
  history_.read(database, id);
  const JobRequest& request = model_.request();
  const auto search = trials_.read(database, job_->job(), precisionName(request.optimize.precision));
  // Points in INT8 can be taken over only with the scales of their search.
  if (!search || !request.optimize.quantization_recipe.empty() || search->options.empty()) return;
  const std::string recipe = recipeOf(search->options);
  if (!recipe.empty())
    model_.setRecipe(recipe, fmt::format("From the search of {}.", dateText(search->started_unix_ns)));
}

JobRequest JobRunner::tryRequest(const JobRecord& previous, JobDatabase& database) const {
  JobRequest after = model_.requestWith(decisions_.now(), database);
  after.command = "what-if";
  after.decisions = decisionRecords(decisions_.now(), precisionName(model_.request().optimize.precision));
  after.measure.duration_s = std::min(after.measure.duration_s, kTrySeconds);
  after.measure.warmup_s = std::min(after.measure.warmup_s, kTryWarmupSeconds);
  after.measure.hint = Hint::kNone;
  after.measure.threads = previous.runs.back().threads;
  after.measure.instances = previous.runs.back().instances;
  after.decide_within_s = kVerdictSeconds;
  after.tune_budget_s = kTryTuneSeconds;
  if (!after.data.path.empty())
    after.data.samples = after.data.samples > 0 ? std::min(after.data.samples, kTrySamples) : kTrySamples;
  if (decisions_.now().pins.empty()) tuneLike(previous.runs.back(), &after.optimize);
  return after;
}

void JobRunner::prepareTry(JobDatabase& database) {
  prepared_.reset();
  if (!job_ || job_->job().runs.empty()) return;
  const JobRequest request = tryRequest(job_->job(), database);
  try {
    if (mayPrepare(model_.checked(), request))
      prepared_ = std::make_unique<PreparedEngine>(model_.checked(), request, request.measure.threads, cancellation_);
  } catch (const Error& error) {
    reporter_.log(LogLevel::kWarning, error.what());  // the next try starts an engine of its own
  }
}

void JobRunner::tryDecisions() {
  if (!model_.loaded() || !job_ || job_->job().runs.empty())
    throw Error(ExitCode::kUsage, "Optimize the model first; decisions are measured against that.");
  if (decisions_.areMeasured()) {
    reporter_.log(LogLevel::kInfo, "These decisions are in force already.");
    reporter_.publishStatus();
    return;
  }
  try_begin_ = std::chrono::steady_clock::now();
  const JobRecord previous = job_->job();
  const auto shown_before = reporter_.latest()->job;
  reporter_.setState(JobState::kWorking, "");
  JobDatabase database(model_.databasePath());
  const JobRequest after = tryRequest(previous, database);
  job_ = std::make_unique<ModelJob>(model_.checked(), after, std::move(job_), std::move(prepared_), reporter_,
                                    cancellation_);
  job_->optimize();
  job_->measure();
  const JobRecord tried = job_->job();
  const bool no_difference = trials_.tries().back().noDifference();  // added by judged()
  decisions_.setMeasured();
  const auto id = database.record(*job_, false);
  if (database.database() != nullptr) history_.read(*database.database(), id.value_or(0));
  // Operations are compared with those of the job before, which were timed; the verdict is that of the rounds taken
  // now.
  history_.compareTry(previous, tried);
  // The window keeps comparing with the original model, and keeps showing the findings of a search.
  JobRecord shown = tried;
  shown.sensitivities = shown_before->sensitivities;
  shown.tradeoffs = shown_before->tradeoffs;
  const auto baseline = std::find_if(previous.runs.begin(), previous.runs.end(),
                                     [](const RunRecord& run) { return run.variant == "baseline"; });
  if (baseline != previous.runs.end()) shown.runs.front() = *baseline;
  JobStatus end = endOf(*job_, database);
  if (no_difference) end.message = "The decisions make no difference in time.";
  reporter_.setStatus(std::move(end));
  prepareTry(database);
  reporter_.publishRecord(shown);
}

std::optional<PassGain> JobRunner::gainOf(const std::string& pass, JobEvents& events) {
  JobDatabase database(model_.databasePath());
  JobRequest request = tryRequest(job_->job(), database);
  request.optimize.disabled_passes.push_back(pass);
  ModelJob without(model_.checked(), request, std::move(job_), std::move(prepared_), events, cancellation_);
  std::optional<Error> problem;
  try {
    without.optimize();
    without.timeAgainst();
  } catch (const Error& error) {
    problem = error;
  }
  job_ = without.giveBack();
  if (problem && problem->code() == kInterrupted) throw *problem;
  if (problem) {
    reporter_.log(LogLevel::kWarning, fmt::format("Without {} the model cannot be timed: {}", pass, problem->what()));
    return std::nullopt;
  }
  const RunRecord& with_run = without.job().runs.front();
  const RunRecord& without_run = without.job().runs.back();
  const Interval ratio = medianRatio({without_run.latency_ns, without_run.turn}, {with_run.latency_ns, with_run.turn});
  const auto with_ns = static_cast<double>(median(with_run.latency_ns));
  return PassGain{pass, (ratio.value - 1) * with_ns, (ratio.low - 1) * with_ns, (ratio.high - 1) * with_ns};
}

// The verdict, while the times of single steps are still to come.
void JobRunner::judged(const JobRecord& job) {
  trials_.add(job, decisions_.now());
  const double elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - try_begin_).count();
  reporter_.log(LogLevel::kInfo,
                fmt::format("What the decisions give was measured and judged within {:.1f} s.", elapsed_s));
  reporter_.publishStatus();
}

void JobRunner::showRecorded(const JobRecord& job) {
  measurePeaksOf(job.machine, job.runs.empty() ? 1 : job.runs.back().threads);
  if (job.runs.empty()) return;
  const RunRecord& optimized = job.runs.back();
  choices_.precision = precisionFromName(optimized.precision).value_or(Precision::kFp32);
  choices_.threads = optimized.threads;
}

void JobRunner::offer(Precision precision, std::int32_t threads) {
  choices_.precision = precision;
  choices_.threads = threads;
  ++choices_.taken;
}

void JobRunner::measurePeaksOf(const MachineFacts& machine, std::int32_t threads) {
  const MachineFacts here = machineFacts();
  peaks_ = MachinePeaks();
  const bool remote = model_.loaded() && !model_.checked().worker.empty();
  if (remote || machine.cpu != here.cpu || machine.isa != here.isa || cancellation_.requested()) return;
  peaks_ = measurePeaks(std::clamp(threads, 1, usableCores()));
}

}  // namespace ipex_studio
