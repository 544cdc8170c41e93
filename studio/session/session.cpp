#include "studio/session/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <utility>

#include "core/runtime/machine_facts.h"
#include "profiler/text.h"
#include "studio/job/session_request.h"
#include "studio/job/session_worker.h"

namespace ipex_studio {
namespace {

// True if a new wish makes the running job pointless; what can wait does.
struct ReplacesJob {
  bool operator()(const OpenCommand&) const { return true; }
  bool operator()(const OptimizeCommand&) const { return true; }
  bool operator()(const FlagsCommand&) const { return true; }
  bool operator()(const TuneCommand&) const { return true; }
  bool operator()(const OverrideCommand& command) const { return command.measure; }
  bool operator()(const CancelCommand&) const { return false; }
  bool operator()(const ExportCommand&) const { return false; }
  bool operator()(const SaveTableCommand&) const { return false; }
  bool operator()(const ShowJobCommand&) const { return false; }
  bool operator()(const CompareCommand&) const { return false; }
  bool operator()(const StepOverridesCommand&) const { return false; }
  bool operator()(const TrustCommand&) const { return false; }
  bool operator()(const ReportCommand&) const { return false; }
};

using Clock = std::chrono::steady_clock;

// Shortest time between two published records: indexing one costs tens of milliseconds, and nobody can follow more of
// them.
constexpr auto kRecordInterval = std::chrono::milliseconds(250);
constexpr std::size_t kMaxLogLines = 2000;
constexpr std::int64_t kMaxLookedAt = 100;  // jobs of a database, for the one to show first

RunChoices runChoices(const JobRequest& request, std::int32_t cores) {
  RunChoices choices;
  for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kFp16, Precision::kInt8}) {
    PrecisionChoice choice;
    choice.precision = precision;
    choice.reason = whyNotPrecision(precision, request);
    choice.available = choice.reason.empty();
    if (precision == Precision::kFp16 && !choice.available)
      continue;  // few machines have it: not worth the room elsewhere
    if (!choice.available) choice.reason = fmt::format("Not here: {}.", choice.reason);
    choices.precisions.push_back(std::move(choice));
  }
  choices.precision = request.optimize.precision;
  choices.max_threads = cores;
  choices.threads = request.measure.threads > 0 ? request.measure.threads : choices.max_threads;
  return choices;
}

}  // namespace

bool isDatabaseFile(const std::string& path) {
  constexpr char kMagic[] = "SQLite format 3";
  char head[sizeof kMagic] = {};
  std::ifstream file(path, std::ios::binary);
  file.read(head, sizeof head);
  return file.gcount() == sizeof head && std::string(head) == kMagic;
}

Session::Session(SessionOptions options) : options_(std::move(options)) {
  parts_.choices = runChoices(options_.request, usableCores());
  if (!options_.file.empty()) {
    parts_.status.state = JobState::kWorking;
    parts_.status.stage = "open";
    commands_.push_back(OpenCommand{options_.file});
  }
  latest_ = makeSnapshot(nullptr, parts_, nullptr);
  thread_ = std::thread([this] { work(); });
}

Session::~Session() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_ = nullptr;
  }
  cancellation_.request();
  posted_.notify_all();
  thread_.join();
}

SnapshotPtr Session::latest() {
  const std::lock_guard lock(mutex_);
  return latest_;
}

bool Session::idle() {
  const std::lock_guard lock(mutex_);
  return !working_ && commands_.empty();
}

void Session::setWakeup(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

void Session::post(Command command) {
  const std::lock_guard lock(mutex_);
  if (std::holds_alternative<CancelCommand>(command)) {
    if (working_) cancellation_.request();
    if (wake_) wake_();
    return;
  }
  if (working_ && std::visit(ReplacesJob(), command)) cancellation_.request();
  commands_.push_back(std::move(command));
  posted_.notify_all();
}

void Session::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    posted_.wait(lock, [this] { return stopping_ || !commands_.empty(); });
    if (stopping_) break;
    const Command command = std::move(commands_.front());
    commands_.pop_front();
    cancellation_.clear();
    working_ = true;
    lock.unlock();
    std::visit([this](const auto& wish) { handle(wish); }, command);
    onTimed(false);
    lock.lock();
    working_ = false;
  }
  lock.unlock();
  // Engines belong to this thread.
  prepared_.reset();
  job_.reset();
}

void Session::guarded(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    prepared_.reset();
    job_.reset();
    const bool cancelled = error.code() == kInterrupted;
    log(cancelled ? LogLevel::kInfo : LogLevel::kError, error.what());
    lookForInterrupted();
    setState(cancelled ? JobState::kCancelled : JobState::kFailed, error.what());
  } catch (const std::exception& error) {
    prepared_.reset();
    job_.reset();
    log(LogLevel::kError, error.what());
    setState(JobState::kFailed, error.what());
  }
}

void Session::handle(const OpenCommand& command) {
  guarded([&] { open(command.path); });
}

void Session::handle(const OptimizeCommand& command) {
  guarded([&] {
    options_.request.optimize.precision = command.precision;
    options_.request.measure.threads = command.threads;
    if (!command.inputs.empty()) options_.request.inputs = command.inputs;
    startJob();
  });
}

// post() has carried it out: the job that it ends is what this thread was busy with.
void Session::handle(const CancelCommand&) {}

void Session::handle(const ExportCommand& command) {
  guarded([&] { exportModel(command); });
}

void Session::handle(const ShowJobCommand& command) {
  guarded([&] {
    if (history_path_.empty()) throw Error(ExitCode::kUsage, "There is no database to show a run from.");
    const std::string file = parts_.work.file;
    closeModel();
    parts_.work.file = file;
    showJob(Database::open(history_path_, OpenMode::kReadOnly), command.job);
  });
}

void Session::handle(const TrustCommand& command) {
  guarded([&] { answerTrust(command.answer); });
}

void Session::handle(const TuneCommand& command) {
  guarded([&] { tune(command); });
}

void Session::handle(const FlagsCommand& command) {
  guarded([&] { takeFlags(command.words); });
}

// Drops everything that belongs to the open file.
void Session::closeModel() {
  prepared_.reset();
  job_.reset();
  model_.reset();
  trusted_ = false;
  overrides_ = OverrideHistory();
  measured_overrides_ = Overrides();
  parts_.tries.clear();
  parts_.work = WorkState();
  tried_key_.clear();
  tried_sensitivities_.clear();
  tried_tradeoffs_.clear();
}

void Session::open(const std::string& path) {
  setState(JobState::kWorking, "");
  closeModel();
  if (path != options_.file) {
    // The command line spoke of another file.
    options_.file = path;
    options_.request.inputs.clear();
    options_.request.inputs_path.clear();
    options_.request.optimize.quantization_recipe.clear();
    options_.request.data = DataRequest();
  }
  if (isDatabaseFile(path)) {
    openDatabase(path);
    parts_.work.file = path;
    publishStatus();
    return;
  }
  model_ = std::make_unique<CheckedModel>(openModel(path, options_.worker, cancellation_));
  options_.request.remote = !model_->worker.empty();
  options_.request.abilities = model_->abilities;
  parts_.work.file = path;
  parts_.work.remote = options_.request.remote;
  for (const Finding& finding : model_->report.findings) {
    log(finding.dangerous ? LogLevel::kWarning : LogLevel::kInfo, finding.text);
  }
  if (!options_.request.optimize.quantization_recipe.empty())
    parts_.work.tuning.recipe = "As given on the command line.";
  lookForInterrupted();
  JobRecord record;
  record.model.path = model_->path;
  record.model.sha256 = model_->report.sha256;
  record.model.file_bytes = model_->report.file_bytes;
  record.machine = model_->machine;
  publishRecord(record);
  if (!askTrust()) startJob();
}

void Session::openDatabase(const std::string& path) {
  const Database database = Database::open(path, OpenMode::kReadOnly);
  const auto jobs = database.jobs(kMaxLookedAt);
  if (jobs.empty()) throw Error(ExitCode::kDatabase, fmt::format("{} holds no recorded runs yet.", path));
  // Rather the newest that measured than a newer one that only wrote a file.
  const auto measured =
      std::find_if(jobs.begin(), jobs.end(), [](const JobSummary& job) { return job.optimized_p50_ns > 0; });
  showJob(database, (measured == jobs.end() ? jobs.front() : *measured).id);
}

void Session::showJob(const Database& database, std::int64_t id) {
  const JobRecord job = database.job(id);
  log(LogLevel::kInfo,
      fmt::format("Opened job {} of {}, recorded {}.", id, database.path(), dateText(job.started_unix_ns)));
  parts_.work.recorded_at = dateText(job.started_unix_ns);
  if (::access(job.model.path.c_str(), R_OK) == 0) parts_.work.recorded_model = job.model.path;
  readHistory(database, id);
  if (job.command == "what-if" && job.runs.size() == 2 && parts_.comparison && parts_.comparison->runs.size() == 2) {
    // The verdict is that of the rounds both took.
    auto set = std::make_shared<RunSet>(*parts_.comparison);
    set->ratio.back() =
        medianRatio({job.runs[0].latency_ns, job.runs[0].turn}, {job.runs[1].latency_ns, job.runs[1].turn});
    parts_.comparison = std::move(set);
  }
  overrides_ = OverrideHistory();
  measured_overrides_ = Overrides();
  parts_.tries.clear();
  readTried(database, job);
  setOverrides();
  measureRoofs(job.machine, job.runs.empty() ? 1 : job.runs.back().threads);
  parts_.status = JobStatus{JobState::kRecorded, "", 1, -1, ""};
  if (!job.runs.empty()) {
    const RunRecord& optimized = job.runs.back();
    parts_.choices.precision = precisionFromName(optimized.precision).value_or(Precision::kFp32);
    parts_.choices.threads = optimized.threads;
  }
  publishRecord(job);
}

void Session::startJob(PrecisionSearchResult* found) {
  if (!model_) throw Error(ExitCode::kUsage, "Open a model first; recorded runs cannot be run again.");
  if (parts_.work.trust.asked()) throw Error(ExitCode::kUsage, "Say first how far this model is to be trusted.");
  parts_.choices = runChoices(options_.request, std::max(1, model_->machine.cores));
  setState(JobState::kWorking, "");
  prepared_.reset();
  job_.reset();
  JobDatabase database(options_.database_path);
  const JobRequest request = requestWith(overrides_.now(), database);
  job_ = std::make_unique<ModelJob>(*model_, request, true, static_cast<JobEvents&>(*this), cancellation_);
  job_->optimize();
  for (const InputRecord& input : job_->job().model.inputs) {
    log(input.guessed ? LogLevel::kWarning : LogLevel::kInfo,
        fmt::format("Input {}{}", inputText(input), input.guessed ? " is a guess." : ""));
  }
  // Measurements made for pinned kernels alone are of no use to other jobs.
  const auto recordTuning = [&] {
    if (overrides_.now().pins.empty()) database.recordTuning(job_->tuning());
  };
  recordTuning();
  job_->measure();
  recordTuning();  // of the other precisions, which are optimized only then
  if (found != nullptr) job_->addSearch(std::move(found->sensitivities), std::move(found->tradeoffs));
  measured_overrides_ = overrides_.now();
  const auto id = database.record(job_->job(), request.inputs_path.empty());
  if (id) log(LogLevel::kInfo, fmt::format("Recorded as job {} in {}.", *id, database.database()->path()));
  if (database.problem()) log(LogLevel::kError, fmt::format("The run is not recorded. {}", database.problem()->what()));
  if (database.database() != nullptr) {
    readHistory(*database.database(), id.value_or(0));
    if (found != nullptr) tried_key_.clear();
    readTried(*database.database(), job_->job());
  }
  measureRoofs(model_->machine, parts_.choices.threads);
  parts_.status =
      JobStatus{job_->accurate() ? JobState::kDone : JobState::kFailed, "", 1, -1, job_->accuracySentence()};
  prepareTry(database);
  publishRecord(job_->job());
}

void Session::onProgress(const std::string& stage, double fraction, double eta_s) {
  const bool same = parts_.status.state == JobState::kWorking && parts_.status.stage == stage;
  parts_.status = JobStatus{JobState::kWorking, stage, fraction, eta_s, ""};
  if (same && Clock::now() - last_progress_ < kRecordInterval) return;
  last_progress_ = Clock::now();
  publishStatus();
}

void Session::onLog(const std::string& text, bool warning) {
  log(warning ? LogLevel::kWarning : LogLevel::kInfo, text);
  publishStatus();
}

void Session::onRecord(const JobRecord& job) {
  if (Clock::now() - last_record_ < kRecordInterval) return;
  last_record_ = Clock::now();
  publishRecord(job);
}

void Session::setState(JobState state, const std::string& message) {
  parts_.status = JobStatus{state, "", -1, -1, message};
  publishStatus();
}

void Session::log(LogLevel level, const std::string& text) {
  const double time_s = std::chrono::duration<double>(Clock::now() - started_).count();
  if (parts_.log.size() >= kMaxLogLines) parts_.log.erase(parts_.log.begin());
  parts_.log.push_back({time_s, level, text});
}

void Session::publishRecord(const JobRecord& job) {
  setOverrides();
  auto shown = std::make_shared<JobRecord>(job);
  if (shown->tradeoffs.empty()) {
    shown->tradeoffs = tried_tradeoffs_;
    shown->sensitivities = tried_sensitivities_;
  }
  publish(makeSnapshot(std::move(shown), parts_, latest()));
}

void Session::publishStatus() {
  setOverrides();
  publish(withStatus(latest(), parts_));
}

void Session::publish(SnapshotPtr snapshot) {
  const std::lock_guard lock(mutex_);
  latest_ = std::move(snapshot);
  news_ = timed_;
  if (timed_ || !wake_) return;
  drawing_ = true;
  wake_();
}

}  // namespace ipex_studio
