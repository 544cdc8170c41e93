// The what-ifs of a session: decisions measured against those before, and trials on this model in other sessions.
#include <fmt/format.h>

#include <algorithm>

#include "core/record/records_json.h"
#include "profiler/text.h"
#include "studio/session/session.h"

namespace ipex_studio {
namespace {

// A what-if must be quick: versions that cannot be told apart within this time count as "no difference".
constexpr double kTrySeconds = 0.7;
constexpr double kTryWarmupSeconds = 0.1;
constexpr double kVerdictSeconds = 4.5;
// Steps that are not measured by then are chosen by rules of thumb.
constexpr double kTryTuneSeconds = 0.8;
constexpr std::int64_t kTrySamples = 64;

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

// Needs both runs, the older first.
WhatIf whatIfOf(const JobRecord& job) {
  const RunRecord& before = job.runs.front();
  const RunRecord& after = job.runs.back();
  const Interval ratio = medianRatio({after.latency_ns, after.turn}, {before.latency_ns, before.turn});
  WhatIf result;
  result.before_ns = static_cast<double>(median(before.latency_ns));
  result.after_ns = static_cast<double>(median(after.latency_ns));
  result.delta_ns = (ratio.value - 1) * result.before_ns;
  result.delta_low_ns = (ratio.low - 1) * result.before_ns;
  result.delta_high_ns = (ratio.high - 1) * result.before_ns;
  result.before_db = before.accuracy.sqnr_db;
  result.after_db = after.accuracy.sqnr_db;
  result.accurate = after.accuracy.pass;
  return result;
}

// The recipe that a job was given; empty where it had none.
std::string recipeOf(const std::string& options) {
  try {
    const nlohmann::json all = parseRecordText(options);
    return all.at("optimize").at("quantization_recipe").get<std::string>();
  } catch (const std::exception&) {
    return "";
  }
}

}  // namespace

JobRequest Session::requestWith(const Overrides& overrides, JobDatabase& database) const {
  JobRequest request = options_.request;
  request.command = "studio";
  request.trust = request.trust || trusted_;
  if (request.inputs.empty() && request.inputs_path.empty())
    request.remembered = database.rememberedInputs(model_->report.sha256);
  OptimizeOptions& optimize = request.optimize;
  if (!overrides.pins.empty() && optimize.tune == TuneMode::kOff) optimize.tune = TuneMode::kQuick;
  if (optimize.tune != TuneMode::kOff) optimize.tuning_record = database.rememberedTuning();
  if (!overrides.pins.empty()) optimize.tuning_record = pinnedTuning(optimize.tuning_record, overrides.pins);
  // A decision for everything is the precision of the whole, and makes those before it void.
  std::vector<PrecisionOverride> decided = overrides.precisions;
  const auto all =
      std::find_if(decided.rbegin(), decided.rend(), [](const PrecisionOverride& o) { return o.what == "*"; });
  if (all != decided.rend()) {
    optimize.precision = precisionFromName(all->precision).value_or(optimize.precision);
    decided.erase(decided.begin(), all.base());
  }
  const Precision base = optimize.precision;
  if (!overrides.empty())
    request.decisions = decisionRecords(overrides, precisionName(options_.request.optimize.precision));
  optimize.precision = commonPrecision(base, decided);
  if (optimize.precision != base) optimize.precision_overrides.push_back("*=fp32");
  for (const PrecisionOverride& override : decided) optimize.precision_overrides.push_back(overrideText(override));
  return request;
}

JobRequest Session::tryRequest(const JobRecord& previous, JobDatabase& database) const {
  JobRequest after = requestWith(overrides_.now(), database);
  after.command = "what-if";
  after.decisions = decisionRecords(overrides_.now(), precisionName(options_.request.optimize.precision));
  after.measure.duration_s = std::min(after.measure.duration_s, kTrySeconds);
  after.measure.warmup_s = std::min(after.measure.warmup_s, kTryWarmupSeconds);
  after.measure.hint = Hint::kNone;
  after.measure.threads = previous.runs.back().threads;
  after.measure.instances = previous.runs.back().instances;
  after.decide_within_s = kVerdictSeconds;
  after.tune_budget_s = kTryTuneSeconds;
  if (!after.data.path.empty())
    after.data.samples = after.data.samples > 0 ? std::min(after.data.samples, kTrySamples) : kTrySamples;
  if (overrides_.now().pins.empty()) tuneLike(previous.runs.back(), &after.optimize);
  return after;
}

void Session::prepareTry(JobDatabase& database) {
  prepared_.reset();
  if (!job_ || job_->job().runs.empty()) return;
  const JobRequest request = tryRequest(job_->job(), database);
  try {
    if (mayPrepare(*model_, request))
      prepared_ = std::make_unique<PreparedEngine>(*model_, request, request.measure.threads, cancellation_);
  } catch (const Error& error) {
    log(LogLevel::kWarning, error.what());  // the next try begins at the beginning
  }
}

void Session::tryOverrides() {
  if (!model_ || !job_ || job_->job().runs.empty())
    throw Error(ExitCode::kUsage, "Optimize the model first; decisions are measured against that.");
  if (overrides_.now() == measured_overrides_) {
    log(LogLevel::kInfo, "These decisions are in force already.");
    publishStatus();
    return;
  }
  try_begin_ = std::chrono::steady_clock::now();
  const JobRecord previous = job_->job();
  const auto shown_before = latest()->job;
  setState(JobState::kWorking, "");
  JobDatabase database(options_.database_path);
  const JobRequest after = tryRequest(previous, database);
  job_ = std::make_unique<ModelJob>(*model_, after, std::move(job_), std::move(prepared_),
                                    static_cast<JobEvents&>(*this), cancellation_);
  job_->optimize();
  job_->measure();
  JobRecord tried = job_->job();
  const RunRecord& old_run = tried.runs.front();
  const RunRecord& new_run = tried.runs.back();
  const WhatIf& result = parts_.tries.back();  // since onMeasured()
  measured_overrides_ = overrides_.now();
  const auto id = database.record(tried, false);
  if (database.database() != nullptr) readHistory(*database.database(), id.value_or(0));
  // Operations beside those of the job before, which were timed; the verdict is that of the rounds taken now.
  auto set =
      std::make_shared<RunSet>(compareRunSet({{&previous, previous.runs.size() - 1}, {&tried, tried.runs.size() - 1}}));
  set->ratio.back() = medianRatio({old_run.latency_ns, old_run.turn}, {new_run.latency_ns, new_run.turn});
  parts_.comparison = std::move(set);
  // The window keeps comparing with the original model, and keeps showing the findings of a search.
  JobRecord shown = tried;
  shown.sensitivities = shown_before->sensitivities;
  shown.tradeoffs = shown_before->tradeoffs;
  const auto baseline = std::find_if(previous.runs.begin(), previous.runs.end(),
                                     [](const RunRecord& run) { return run.variant == "baseline"; });
  if (baseline != previous.runs.end()) shown.runs.front() = *baseline;
  parts_.status =
      JobStatus{job_->accurate() ? JobState::kDone : JobState::kFailed, "", 1, -1,
                result.noDifference() ? "The decisions make no difference in time." : job_->accuracySentence()};
  prepareTry(database);
  publishRecord(shown);
}

// The verdict, while the times of single steps are still to come.
void Session::onMeasured(const JobRecord& job) {
  WhatIf result = whatIfOf(job);
  result.tried = overrides_.now();
  parts_.tries.push_back(std::move(result));
  const double elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - try_begin_).count();
  log(LogLevel::kInfo, fmt::format("What the decisions give was measured and judged within {:.1f} s.", elapsed_s));
  publishStatus();
}

void Session::readTried(const Database& database, const JobRecord& job) {
  if (job.runs.empty()) return;
  const RunRecord& run = job.runs.back();
  const std::string base = model_ ? precisionName(options_.request.optimize.precision) : "";
  const std::string key = fmt::format("{} {} {} {} {} {}", job.model.sha256, job.machine.cpu, job.machine.isa,
                                      run.threads, run.instances, base);
  if (key == tried_key_) return;
  tried_key_ = key;
  TriedBefore before = database.tried(job.model.sha256, job.machine, run.threads, run.instances);
  tried_sensitivities_ = std::move(before.sensitivities);
  tried_tradeoffs_ = std::move(before.tradeoffs);
  parts_.tries.clear();
  for (const JobRecord& what_if : before.what_ifs) {
    parts_.tries.push_back(whatIfOf(what_if));
    parts_.tries.back().tried = overridesFrom(what_if.decisions, base);
  }
  // Points in INT8 can be taken over only with the scales they were found with.
  std::string& recipe = options_.request.optimize.quantization_recipe;
  if (!model_ || !recipe.empty() || before.options.empty()) return;
  recipe = recipeOf(before.options);
  if (!recipe.empty())
    parts_.work.tuning.recipe = fmt::format("From the search of {}.", dateText(before.started_unix_ns));
}

}  // namespace ipex_studio
