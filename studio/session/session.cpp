// See session.h.
#include "studio/session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "profiler/text.h"
#include "studio/session/library_change.h"
#include "studio/session/open_folder.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kMaxLookedAt = 100;  // most jobs of a database among which the one to show first is chosen

}  // namespace

Session::Session(SessionOptions options)
    : model_(std::move(options), *this, queue_.cancellation()),
      runner_(model_, decisions_, history_, trials_, *this, queue_.cancellation()),
      export_(model_, decisions_, runner_, *this, queue_.cancellation()),
      tuning_(model_, decisions_, runner_, *this, queue_.cancellation()),
      bisect_(model_, decisions_, runner_, *this, queue_.cancellation()),
      pass_gains_(model_, runner_, *this),
      values_(model_, decisions_, runner_, *this, queue_.cancellation()),
      curves_(model_, decisions_, runner_, *this, queue_.cancellation()) {
  const std::string& file = model_.file();
  if (!file.empty()) {
    status_.set(JobStatus{JobState::kWorking, "open", -1, -1, ""});
    queue_.post(OpenCommand{file});
  }
  feed_.publish(makeSnapshot(nullptr, parts(), nullptr));
  thread_ = std::thread([this] { work(); });
}

Session::~Session() {
  feed_.setWakeup(nullptr);
  queue_.stop();
  thread_.join();
}

void Session::post(Command command) {
  const bool cancels = std::holds_alternative<CancelCommand>(command);
  queue_.post(std::move(command));
  if (cancels) feed_.wake();
}

void Session::work() {
  // Before anything is open the window lists what was recorded.
  if (model_.file().empty()) beside([this] { history_.readIfThere(model_.databasePath()); });
  while (const std::optional<Command> command = queue_.next()) {
    std::visit([this](const auto& wish) { handle(wish); }, *command);
    feed_.setTimed(false);
    queue_.done();
  }
  runner_.drop();  // engines belong to this thread
}

void Session::guarded(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    runner_.drop();
    const bool cancelled = error.code() == kInterrupted;
    log(cancelled ? LogLevel::kInfo : LogLevel::kError, error.what());
    tuning_.lookForInterrupted();
    fail(cancelled ? JobState::kCancelled : JobState::kFailed, error);
  } catch (const std::exception& error) {
    runner_.drop();
    log(LogLevel::kError, error.what());
    fail(JobState::kFailed, Error(ExitCode::kFailure, error.what()));
  }
}

void Session::beside(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    log(LogLevel::kError, error.what());
    status_.setMessage(error.what());
  }
  publishStatus();
}

void Session::tell(const std::string& sentence) {
  status_.setMessage(sentence);
  log(LogLevel::kInfo, sentence);
}

void Session::tell(const WrittenFile& file) {
  status_.setMessage(file.sentence);
  logWritten(file.sentence, file.path);
}

void Session::handle(const OpenCommand& command) {
  guarded([&] { open(command.path, model_.measuresAtOnce()); });
}

void Session::handle(const OptimizeCommand& command) {
  guarded([&] {
    JobRequest& request = model_.request();
    decisions_.chooseWhole(precisionName(command.precision));
    // A decision for the whole model is a chip, and the choice below it stays for when that is removed.
    if (decisions_.now().whole().empty()) request.optimize.precision = command.precision;
    request.measure.threads = command.threads;
    if (!command.inputs.empty()) model_.takeInputs(command.inputs, false);
    runner_.start();
  });
}

// Nothing is left to do: post() has ended the job that this thread was busy with.
void Session::handle(const CancelCommand&) {}

void Session::handle(const ExportCommand& command) {
  guarded([&] { export_.run(command); });
}

void Session::handle(const SaveTableCommand& command) {
  beside([&] { tell(saveTable(command, *latest())); });
}

void Session::handle(const ShowJobCommand& command) {
  guarded([&] {
    if (history_.path().empty()) throw Error(ExitCode::kUsage, "There is no database to show a run from.");
    const std::string file = model_.work().file;
    closeModel();
    model_.showFile(file);
    showJob(Database::open(history_.path(), OpenMode::kReadOnly), command.job);
  });
}

void Session::handle(const CompareCommand& command) {
  beside([&] { history_.compare(command.runs); });
}

void Session::handle(const OverrideCommand& command) {
  if (!command.measure) return beside([&] { decisions_.set(command.next); });
  guarded([&] {
    decisions_.set(command.next);
    runner_.tryDecisions();
  });
}

void Session::handle(const PassGainsCommand& command) {
  guarded([&] { pass_gains_.measure(command.passes, history_.runs() ? history_.runs()->shown_job : 0); });
}

void Session::handle(const StepOverridesCommand& command) {
  beside([&] {
    if (command.redo) decisions_.redo();
    if (!command.redo) decisions_.undo();
  });
}

void Session::handle(const TrustCommand& command) {
  guarded([&] { answerTrust(command.answer); });
}

void Session::handle(const TuneCommand& command) {
  guarded([&] { tuning_.run(command); });
}

void Session::handle(const ReportCommand& command) {
  beside([&] { tell(saveReport(command, *latest())); });
}

void Session::handle(const FlagsCommand& command) {
  guarded([&] {
    if (model_.takeFlags(command.words)) runner_.start();
  });
}

void Session::handle(const DropFlagCommand& command) {
  beside([&] { tell(model_.dropFlag(command.name)); });
}

void Session::handle(const FirstWrongNodeCommand&) {
  guarded([&] { bisect_.run(); });
}

void Session::handle(const ValuesCommand& command) {
  guarded([&] { values_.run(command.origin); });
}

void Session::handle(const OpenFolderCommand& command) {
  beside([&] { openFolderOf(command.path); });
}

void Session::handle(const CurvesCommand& command) {
  guarded([&] { curves_.measure(command.request); });
}

void Session::handle(const UsePointCommand& command) {
  beside([&] { tell(curves_.use(command.point)); });
}

void Session::handle(const OpenSampleCommand&) {
  guarded([&] {
    setState(JobState::kWorking, "");
    open(writeSampleModel(queue_.cancellation()), true);
  });
}

void Session::handle(const MeasureAtOnceCommand& command) {
  beside([&] { model_.setMeasuresAtOnce(command.on); });
}

void Session::handle(const LibraryCommand& command) {
  beside([&] {
    if (history_.path().empty()) throw Error(ExitCode::kUsage, "There is no database of recorded runs.");
    Database database = Database::open(history_.path(), OpenMode::kReadWrite);
    tell(changeLibrary(command, database));
    history_.refresh(database);
  });
}

void Session::closeModel() {
  runner_.drop();
  model_.close();
  decisions_.clear();
  trials_.clear();
  export_.clear();
  bisect_.clear();
  values_.clear();
  curves_.clear();
  tuning_.forgetInterrupted();
}

void Session::open(const std::string& path, bool at_once) {
  setState(JobState::kWorking, "");
  closeModel();
  model_.choose(path);
  // Of a file that cannot be read nothing of the one before is left on the screen.
  publishRecord(JobRecord());
  if (isDatabaseFile(path)) {
    openDatabase(path);
    model_.showFile(path);
    publishStatus();
    return;
  }
  model_.load();
  tuning_.lookForInterrupted();
  curves_.lookForEarlier();
  publishRecord(model_.record());
  if (!model_.askTrust()) begin(at_once);
}

void Session::begin(bool at_once) {
  if (at_once) return runner_.start();
  runner_.showGraph();
}

void Session::openDatabase(const std::string& path) {
  const Database database = Database::open(path, OpenMode::kReadOnly);
  const auto jobs = database.jobs(kMaxLookedAt);
  if (jobs.empty()) throw Error(ExitCode::kDatabase, fmt::format("{} holds no recorded runs yet.", path));
  // The newest job that measured or trained is shown rather than a newer one that only wrote a file.
  const auto measured = std::find_if(jobs.begin(), jobs.end(), [](const JobSummary& job) {
    return job.optimized_p50_ns > 0 || job.training.has_value();
  });
  showJob(database, (measured == jobs.end() ? jobs.front() : *measured).id);
}

void Session::showJob(const Database& database, std::int64_t id) {
  const JobRecord job = database.job(id);
  log(LogLevel::kInfo,
      fmt::format("Opened job {} of {}, recorded {}.", id, database.path(), dateText(job.started_unix_ns)));
  model_.showRecorded(job);
  model_.showSource(database.source(id));
  pass_gains_.show({job.started_unix_ns, database.passGains(id)});
  curves_.show(database, id, job);
  history_.read(database, id);
  if (job.command == "what-if") history_.judgeBy(job);
  trials_.read(database, job, "");
  runner_.showRecorded(job);
  setStatus(JobStatus{JobState::kRecorded, "", 1, -1, ""});
  publishRecord(job);
}

void Session::answerTrust(TrustAnswer answer) {
  if (!model_.loaded() || !model_.trustIsAsked()) return;
  if (answer == TrustAnswer::kRefuse) {
    closeModel();
    setStatus(JobStatus());
    publishRecord(JobRecord());
    return;
  }
  model_.answerTrust(answer == TrustAnswer::kTrust);
  begin(model_.measuresAtOnce());
}

void Session::onProgress(const std::string& stage, double fraction, double eta_s) {
  if (status_.progress(stage, fraction, eta_s)) publishStatus();
}

void Session::onLog(const std::string& text, bool warning) {
  log(warning ? LogLevel::kWarning : LogLevel::kInfo, text);
  publishStatus();
}

void Session::onSignature(const std::vector<ArgumentRecord>& arguments) { model_.showArguments(arguments); }

void Session::onSource(const std::shared_ptr<const SourceRecord>& source) { model_.showSource(source); }

void Session::onRecord(const JobRecord& job) {
  if (status_.recordIsDue()) publishRecord(job);
}

void Session::onMeasured(const JobRecord& job) { runner_.judged(job); }

// Every assignment that a search has tried shows as soon as it is judged.
void Session::onState(const std::string& text) {
  std::vector<TradeoffRecord> tried = triedSoFar(text);
  if (tried.size() == latest()->job->tradeoffs.size()) return;
  JobRecord record = *latest()->job;
  record.tradeoffs = std::move(tried);
  record.sensitivities.clear();
  onRecord(record);
}

void Session::onTimed(bool timed) { feed_.setTimed(timed); }

bool Session::disturbed(double begin_ns, double end_ns) { return feed_.disturbed(begin_ns, end_ns); }

void Session::log(LogLevel level, const std::string& text) { status_.add(level, text); }

void Session::logWritten(const std::string& text, const std::string& path) { status_.add(LogLevel::kInfo, text, path); }

void Session::setStatus(JobStatus status) { status_.set(std::move(status)); }

void Session::publishStatus() { feed_.publish(withStatus(latest(), parts())); }

void Session::publishRecord(const JobRecord& job) {
  auto shown = std::make_shared<JobRecord>(job);
  trials_.addSearch(shown.get());
  feed_.publish(makeSnapshot(std::move(shown), parts(), latest()));
}

SnapshotParts Session::parts() const {
  SnapshotParts parts;
  parts.status = status_.status();
  parts.choices = runner_.choices();
  if (const auto whole = precisionFromName(decisions_.now().whole())) parts.choices.precision = *whole;
  parts.peaks = runner_.peaks();
  parts.history = history_.runs();
  parts.comparison = history_.comparison();
  parts.precisions = history_.precisions();
  parts.tunings = history_.tunings();
  parts.source = model_.source();
  parts.overrides = decisions_.state(model_.loaded() && runner_.hasJob() && parts.status.state != JobState::kWorking);
  parts.work = model_.work();
  parts.work.exported = export_.result();
  parts.work.first_wrong = bisect_.state();
  parts.work.values = values_.record();
  parts.work.curves = curves_.record();
  parts.work.pass_gains = pass_gains_.gains();
  parts.work.tuning.possible = model_.loaded();
  parts.work.tuning.calibration_waits = tuning_.calibrationWaits();
  parts.work.tuning.search_waits = tuning_.searchWaits();
  parts.tries = trials_.tries();
  parts.log = status_.lines();
  return parts;
}

}  // namespace ipex_studio
