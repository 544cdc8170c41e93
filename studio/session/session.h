// The session behind the window: takes commands, runs them on a thread of its own and publishes snapshots.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "studio/session/bisect_job.h"
#include "studio/session/command_queue.h"
#include "studio/session/curves_job.h"
#include "studio/session/decisions.h"
#include "studio/session/history.h"
#include "studio/session/job_runner.h"
#include "studio/session/model_export.h"
#include "studio/session/open_model.h"
#include "studio/session/pass_gains_job.h"
#include "studio/session/reporter.h"
#include "studio/session/screen_files.h"
#include "studio/session/snapshot_feed.h"
#include "studio/session/status_log.h"
#include "studio/session/trials.h"
#include "studio/session/tuning_jobs.h"
#include "studio/session/values_job.h"
#include "studio/snapshot/snapshot.h"

namespace ipex_studio {

// Opens the file at once and, when it is a model, starts the main job on it. Failures become JobStatus::message; the
// session stays usable.
//
// Two threads meet here. The drawing thread calls the public functions, of which post(), latest() and idle() may be
// called from any thread; they touch only the queue and the feed, which lock. Everything else is used by the working
// thread alone, which carries out one command after the other.
class Session : public SnapshotSource, private Reporter {
 public:
  explicit Session(SessionOptions options);
  ~Session() override;  // ends a running job

  SnapshotPtr latest() override { return feed_.latest(); }
  void setWakeup(std::function<void()> wake) override { feed_.setWakeup(std::move(wake)); }
  void post(Command command) override;
  bool idle() override { return queue_.idle(); }
  bool timed() override { return feed_.timed(); }
  void drew(std::int64_t begin_ns, std::int64_t end_ns, bool more) override { feed_.drew(begin_ns, end_ns, more); }

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
  void handle(const PassGainsCommand& command);
  void handle(const StepOverridesCommand& command);
  void handle(const TrustCommand& command);
  void handle(const TuneCommand& command);
  void handle(const ReportCommand& command);
  void handle(const FlagsCommand& command);
  void handle(const DropFlagCommand& command);
  void handle(const FirstWrongNodeCommand& command);
  void handle(const ValuesCommand& command);
  void handle(const OpenFolderCommand& command);
  void handle(const OpenSampleCommand& command);
  void handle(const CurvesCommand& command);
  void handle(const UsePointCommand& command);
  void handle(const MeasureAtOnceCommand& command);
  void handle(const LibraryCommand& command);
  // Runs the model that was opened, or shows its graph alone.
  void begin(bool at_once);
  void open(const std::string& path, bool at_once);
  void openDatabase(const std::string& path);
  void showJob(const Database& database, std::int64_t id);
  // Drops everything that belongs to the open file.
  void closeModel();
  void answerTrust(TrustAnswer answer);
  // Runs `action`; an error becomes the status and ends the shown job's engines.
  void guarded(const std::function<void()>& action);
  // Runs `action`, which leaves the shown job as it is; an error is logged and becomes the status' message.
  void beside(const std::function<void()>& action);
  // Shows a sentence beside the state, and logs it.
  void tell(const std::string& sentence);
  // Tells where something was written.
  void tell(const WrittenFile& file);
  // Everything that stands beside the record in the next snapshot.
  SnapshotParts parts() const;

  void onProgress(const std::string& stage, double fraction, double eta_s) override;
  void onLog(const std::string& text, bool warning) override;
  void onSignature(const std::vector<ArgumentRecord>& arguments) override;
  void onSource(const std::shared_ptr<const SourceRecord>& source) override;
  void onRecord(const JobRecord& job) override;
  void onMeasured(const JobRecord& job) override;
  void onState(const std::string& text) override;
  void onTimed(bool timed) override;
  bool disturbed(double begin_ns, double end_ns) override;

  void log(LogLevel level, const std::string& text) override;
  void logWritten(const std::string& text, const std::string& path) override;
  void setStatus(JobStatus status) override;
  void publishStatus() override;
  void publishRecord(const JobRecord& job) override;

  CommandQueue queue_;
  SnapshotFeed feed_;

  // Used by the working thread alone:
  StatusLog status_;
  OpenModel model_;
  Decisions decisions_;
  History history_;
  Trials trials_;
  JobRunner runner_;
  ModelExport export_;
  TuningJobs tuning_;
  BisectJob bisect_;
  PassGainsJob pass_gains_;
  ValuesJob values_;
  CurvesJob curves_;

  std::thread thread_;
};

}  // namespace ipex_studio
