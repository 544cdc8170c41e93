// What a session does beside its job: history, comparisons, tables as files, decisions and what they give.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "core/plan/machine_facts.h"
#include "core/plan/records_json.h"
#include "studio/screenshot.h"
#include "studio/session.h"
#include "studio/protocol.h"
#include "studio/session_request.h"
#include "studio/snapshot_precision.h"
#include "studio/snapshot_report.h"
#include "studio/snapshot_tables.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kMostJobs = 1000;
// A what-if is asked to be quick: what is not told apart in so long is "no difference".
constexpr double kTrySeconds = 1.0;
constexpr double kTryWarmupSeconds = 0.2;
constexpr std::int64_t kTrySamples = 64;

std::string overrideText(const PrecisionOverride& override) { return override.what + "=" + override.precision; }

// Which precision the whole is optimized for so that everything decided is possible.
Precision widened(Precision base, const std::vector<PrecisionOverride>& overrides) {
  const auto wants = [&](const char* precision) {
    return std::any_of(overrides.begin(), overrides.end(),
                       [&](const PrecisionOverride& o) { return o.precision == precision; });
  };
  if (base == Precision::kFp32 && wants("int8")) return Precision::kInt8;
  if (base == Precision::kFp32 && wants("bf16")) return Precision::kBf16;
  return base;
}

bool endsIn(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

bool Session::handleAside(const Command& command) {
  try {
    if (const auto* save = std::get_if<SaveTableCommand>(&command)) {
      saveTable(*save);
    } else if (const auto* report = std::get_if<ReportCommand>(&command)) {
      saveReport(*report);
    } else if (const auto* runs = std::get_if<CompareCommand>(&command)) {
      compare(runs->runs);
    } else if (const auto* override = std::get_if<OverrideCommand>(&command)) {
      overrides_.set(override->next);
      setOverrides();
      if (override->measure) return false;
    } else if (const auto* step = std::get_if<StepOverridesCommand>(&command)) {
      if (step->redo) overrides_.redo();
      if (!step->redo) overrides_.undo();
      setOverrides();
    } else {
      return false;
    }
  } catch (const std::exception& error) {
    log(LogLevel::kError, error.what());
    parts_.status.message = error.what();
  }
  publishStatus();
  return true;
}

void Session::saveTable(const SaveTableCommand& command) {
  const PanelTable table = panelTable(command.panel, *latest());
  const std::string text = endsIn(command.path, ".json") ? dumpJson(tableJson(table)) + "\n" : tableCsv(table);
  std::ofstream file(command.path, std::ios::binary | std::ios::trunc);
  file << text;
  if (!file.flush())
    throw Error(ExitCode::kFailure, fmt::format("Cannot write {}; start the studio in a folder that can be written.", command.path));
  parts_.status.message = fmt::format("Wrote {} rows to {}.", table.rows.size(), command.path);
  log(LogLevel::kInfo, parts_.status.message);
}

void Session::saveReport(const ReportCommand& command) {
  const Picture empty;
  const Picture& picture = command.picture ? *command.picture : empty;
  const std::string png = picture.rgba.empty() ? "" : encodePng(picture.width, picture.height, picture.rgba);
  const bool html = endsIn(command.path, ".html");
  checkOutputPath(command.path);
  writeFileAtomically(command.path, html ? screenReportHtml(*latest(), {command.panel, command.selected, png}) : png);
  parts_.status.message = fmt::format("Wrote what is on the screen to {}.", command.path);
  log(LogLevel::kInfo, parts_.status.message);
}

void Session::compare(const std::vector<std::int64_t>& runs) {
  parts_.comparison = nullptr;
  if (runs.size() < 2 || history_path_.empty()) return;
  const Database database = Database::open(history_path_, OpenMode::kReadOnly);
  parts_.comparison = std::make_shared<const RunSet>(compareRunSet(database, runs));
}

void Session::setOverrides() {
  parts_.overrides.now = overrides_.now();
  parts_.overrides.can_undo = overrides_.canUndo();
  parts_.overrides.can_redo = overrides_.canRedo();
  parts_.overrides.possible = model_ != nullptr && job_ != nullptr && parts_.status.state != JobState::kWorking;
}

void Session::readHistory(const Database& database, std::int64_t job) {
  auto history = std::make_shared<RunHistory>();
  history_path_ = database.path();
  history->shown_job = job;
  history->jobs = database.jobs(kMostJobs);
  parts_.comparison = nullptr;
  parts_.precisions = nullptr;
  const auto shown = std::find_if(history->jobs.begin(), history->jobs.end(),
                                  [job](const JobSummary& other) { return other.id == job; });
  if (shown != history->jobs.end()) {
    std::vector<std::int64_t> both;
    for (const RunSummary& run : shown->runs) both.push_back(run.id);
    if (both.size() >= 2) parts_.comparison = std::make_shared<const RunSet>(compareRunSet(database, both));
    // The newest optimized run in each precision, this job's own first.
    std::vector<std::int64_t> newest;
    for (const char* precision : kShownPrecisions) {
      const auto find = [&](const JobSummary& of) {
        for (const RunSummary& run : of.runs) {
          if (run.variant == "optimized" && run.precision == precision) return run.id;
        }
        return std::int64_t{0};
      };
      std::int64_t id = find(*shown);
      for (auto other = history->jobs.begin(); other != history->jobs.end() && id == 0; ++other) {
        if (other->sha256 == shown->sha256) id = find(*other);
      }
      if (id != 0) newest.push_back(id);
    }
    if (newest.size() >= 2) parts_.precisions = std::make_shared<const RunSet>(compareRunSet(database, newest));
  }
  parts_.history = std::move(history);
  auto tunings = std::make_shared<std::vector<TuningEntry>>();
  for (auto& [key, entry] : database.tunings("cpu", machineFacts().isa)) {
    const bool step = entry.spec.compare(0, 5, "plan ") != 0 && entry.spec.compare(0, 7, "reorder") != 0;
    if (step && entry.candidates.size() > 1) tunings->push_back(std::move(entry));
  }
  parts_.tunings = std::move(tunings);
}

void Session::measureRoofs(const MachineFacts& machine, std::int32_t threads) {
  const MachineFacts here = machineFacts();
  parts_.peaks = MachinePeaks();
  if ((model_ && !model_->worker.empty()) || machine.cpu != here.cpu || machine.isa != here.isa || cancellation_.requested()) return;
  parts_.peaks = measurePeaks(std::clamp(threads, 1, usableCores()));
}

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
  const auto all = std::find_if(decided.rbegin(), decided.rend(), [](const PrecisionOverride& o) { return o.what == "*"; });
  if (all != decided.rend()) {
    optimize.precision = precisionFromName(all->precision).value_or(optimize.precision);
    decided.erase(decided.begin(), all.base());
  }
  const Precision base = optimize.precision;
  optimize.precision = widened(base, decided);
  if (optimize.precision != base) optimize.precision_overrides.push_back("*=fp32");
  for (const PrecisionOverride& override : decided) optimize.precision_overrides.push_back(overrideText(override));
  return request;
}

void Session::tryOverrides() {
  if (!model_ || !job_) throw Error(ExitCode::kUsage, "Optimize the model first; decisions are measured against that.");
  if (overrides_.now() == measured_overrides_) {
    log(LogLevel::kInfo, "These decisions are in force already.");
    publishStatus();
    return;
  }
  const JobRecord previous = job_->job();
  const auto shown_before = latest()->job;
  setState(JobState::kWorking, "");
  job_.reset();
  JobDatabase database(options_.database_path);
  JobRequest after = requestWith(overrides_.now(), database);
  JobRequest before = requestWith(measured_overrides_, database);
  for (JobRequest* request : {&after, &before}) {
    request->command = "what-if";
    request->measure.duration_s = std::min(request->measure.duration_s, kTrySeconds);
    request->measure.warmup_s = std::min(request->measure.warmup_s, kTryWarmupSeconds);
    if (!request->data.path.empty()) request->data.samples = request->data.samples > 0 ? std::min(request->data.samples, kTrySamples) : kTrySamples;
  }
  job_ = std::make_unique<ModelJob>(*model_, after, before, static_cast<JobEvents&>(*this), cancellation_);
  job_->optimize();
  job_->measure();
  const JobRecord& tried = job_->job();
  const RunRecord& old_run = tried.runs.front();
  const RunRecord& new_run = tried.runs.back();
  const Interval ratio = medianRatio({new_run.latency_ns, new_run.turn}, {old_run.latency_ns, old_run.turn});
  WhatIf result;
  result.tried = overrides_.now();
  result.before_ns = static_cast<double>(median(old_run.latency_ns));
  result.after_ns = static_cast<double>(median(new_run.latency_ns));
  result.delta_ns = (ratio.value - 1) * result.before_ns;
  result.delta_low_ns = (ratio.low - 1) * result.before_ns;
  result.delta_high_ns = (ratio.high - 1) * result.before_ns;
  result.before_db = previous.runs.empty() ? 0 : previous.runs.back().accuracy.sqnr_db;
  result.after_db = new_run.accuracy.sqnr_db;
  result.accurate = new_run.accuracy.pass;
  parts_.tries.push_back(result);
  measured_overrides_ = overrides_.now();
  const auto id = database.record(tried, false);
  if (database.database() != nullptr) readHistory(*database.database(), id.value_or(0));
  if (!previous.runs.empty()) {
    // Operations beside those of the job before, which were timed; the verdict is that of the turns taken now.
    auto set = std::make_shared<RunSet>(
        compareRunSet({{&previous, previous.runs.size() - 1}, {&tried, tried.runs.size() - 1}}));
    set->ratio.back() = medianRatio({old_run.latency_ns, old_run.turn}, {new_run.latency_ns, new_run.turn});
    parts_.comparison = std::move(set);
  }
  // The window goes on comparing with the model as it is, and showing what a search has found.
  JobRecord shown = tried;
  shown.sensitivities = shown_before->sensitivities;
  shown.tradeoffs = shown_before->tradeoffs;
  const auto baseline = std::find_if(previous.runs.begin(), previous.runs.end(),
                                     [](const RunRecord& run) { return run.variant == "baseline"; });
  if (baseline != previous.runs.end()) shown.runs.front() = *baseline;
  parts_.status = JobStatus{job_->accurate() ? JobState::kDone : JobState::kFailed, "", 1, -1,
                            result.noDifference() ? "The decisions make no difference in time." : job_->accuracySentence()};
  publishRecord(shown);
}

}  // namespace ipex_studio
