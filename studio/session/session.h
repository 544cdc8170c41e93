// The session behind the window: owns the open model and its engines on a thread of its own and posts snapshots.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "studio/job/session_database.h"
#include "studio/job/session_job.h"
#include "studio/job/session_precision.h"
#include "studio/job/session_prepared.h"
#include "studio/snapshot/snapshot.h"

namespace ipex_studio {

struct SessionOptions {
  std::string file;                 // a model, or a database of recorded runs; empty: nothing yet
  std::string database_path;        // empty: the default one
  JobRequest request;               // what the command line said; kept for every job
  std::vector<std::string> worker;  // command that models are run by (session_worker.h); empty: by this machine
  bool ask_trust = false;           // dangerous models wait for a TrustCommand; else they run in the sandbox
};

// True for files that begin as SQLite databases do.
bool isDatabaseFile(const std::string& path);

// Opens the file at once and, when it is a model, starts the main job on it. Failures become JobStatus::message; the
// session stays usable.
class Session : public SnapshotSource, private JobEvents {
 public:
  explicit Session(SessionOptions options);
  ~Session() override;  // ends a running job

  SnapshotPtr latest() override;
  void setWakeup(std::function<void()> wake) override;
  void post(Command command) override;
  bool idle() override;
  bool timed() override;
  void drew(std::int64_t begin_ns, std::int64_t end_ns, bool more) override;

 private:
  void work();
  // One handler per command, chosen by std::visit: a command without one does not compile.
  void handle(const OpenCommand& command);
  void handle(const OptimizeCommand& command);
  void handle(const CancelCommand& command);
  void handle(const ExportCommand& command);
  void handle(const SaveTableCommand& command);
  void handle(const ShowJobCommand& command);
  void handle(const CompareCommand& command);
  void handle(const OverrideCommand& command);
  void handle(const StepOverridesCommand& command);
  void handle(const TrustCommand& command);
  void handle(const TuneCommand& command);
  void handle(const ReportCommand& command);
  void handle(const FlagsCommand& command);
  void open(const std::string& path);
  void openDatabase(const std::string& path);
  void showJob(const Database& database, std::int64_t id);
  void closeModel();
  // `found`: the choice of a search, for the record.
  void startJob(PrecisionSearchResult* found = nullptr);
  // True where the open model must not run before its user has said so.
  bool askTrust();
  void answerTrust(TrustAnswer answer);
  // Measures the current decisions against those in force by interleaved timing; the result takes their place.
  void tryOverrides();
  // The request of tryOverrides(). `previous`: the job that it is measured against.
  JobRequest tryRequest(const JobRecord& previous, JobDatabase& database) const;
  // Starts an engine that prepares the next try, whatever will be decided.
  void prepareTry(JobDatabase& database);
  // The request with decisions added.
  JobRequest requestWith(const Overrides& overrides, JobDatabase& database) const;
  void exportModel(const ExportCommand& command);
  // Optimizes again if the export asks for something else than was measured.
  void prepareExport(const ExportCommand& command);
  void verifyExport();
  // Calibrate, quantize, search, tune kernels.
  void tune(const TuneCommand& command);
  void makeRecipe(const TuneCommand& command, const JobRequest& request);
  void searchAssignments(const TuneCommand& command, const JobRequest& request);
  // The state file of an interrupted job on the open model; empty if there is none.
  std::string statePath(const char* what) const;
  // Finds out which interrupted jobs wait.
  void lookForInterrupted();
  void saveTable(const SaveTableCommand& command);
  void saveReport(const ReportCommand& command);
  void compare(const std::vector<std::int64_t>& runs);
  void takeFlags(const std::string& words);
  void setOverrides();
  // Reads what the database knows about the shown job's model. `job`: its number there; 0 if it is not there.
  void readHistory(const Database& database, std::int64_t job);
  // Reads earlier trials on this job's model under the same conditions; kept while the conditions last.
  void readTried(const Database& database, const JobRecord& job);
  void measureRoofs(const MachineFacts& machine, std::int32_t threads);
  // Runs `action`; an error becomes the status and ends the shown job's engines.
  void guarded(const std::function<void()>& action);
  // Runs `action`, which leaves the shown job as it is; an error is logged and becomes the status' message.
  void beside(const std::function<void()>& action);

  void onProgress(const std::string& stage, double fraction, double eta_s) override;
  void onLog(const std::string& text, bool warning) override;
  void onRecord(const JobRecord& job) override;
  void onMeasured(const JobRecord& job) override;
  void onState(const std::string& text) override;
  void onTimed(bool timed) override;
  bool disturbed(double begin_ns, double end_ns) override;

  void setState(JobState state, const std::string& message);
  void log(LogLevel level, const std::string& text);
  void publishRecord(const JobRecord& job);
  void publishStatus();
  void publish(SnapshotPtr snapshot);

  // Members of the working thread.
  SessionOptions options_;
  SnapshotParts parts_;
  std::unique_ptr<CheckedModel> model_;
  std::unique_ptr<ModelJob> job_;
  std::unique_ptr<PreparedEngine> prepared_;  // for the next try; may be null
  bool trusted_ = false;                      // the open model runs without the sandbox, as its user said
  std::string history_path_;                  // of the database the history came from
  std::chrono::steady_clock::time_point try_begin_{};
  std::string tried_key_;                               // the conditions that the trials below were made under
  std::vector<SensitivityRecord> tried_sensitivities_;  // of the newest search
  std::vector<TradeoffRecord> tried_tradeoffs_;
  OverrideHistory overrides_;
  Overrides measured_overrides_;  // in force in job_
  std::chrono::steady_clock::time_point last_record_{};
  std::chrono::steady_clock::time_point last_progress_{};
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  Cancellation cancellation_;

  std::mutex mutex_;  // guards the members below
  std::condition_variable posted_;
  std::deque<Command> commands_;
  bool stopping_ = false;
  bool working_ = false;
  SnapshotPtr latest_;
  std::function<void()> wake_;
  bool timed_ = false;
  bool news_ = false;     // that wait until nothing is timed any more
  bool drawing_ = false;  // a frame was asked for or is not the last
  std::condition_variable drawn_;
  std::deque<std::pair<std::int64_t, std::int64_t>> frames_;  // ns, the last ones

  std::thread thread_;
};

}  // namespace ipex_studio
