// The content of the window at one instant: an immutable value made off the drawing thread and swapped in whole.
//
// A session makes one with makeSnapshot(job, …) when records arrived, and with withStatus(previous, …) when only the
// progress or the log moved on: the indexes, which take time to build, are then shared with the previous snapshot.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/record/records.h"
#include "core/record/source_record.h"
#include "core/record/tuning_store.h"
#include "profiler/comparison.h"
#include "profiler/library/library.h"
#include "studio/snapshot/commands.h"
#include "studio/snapshot/snapshot_index.h"
#include "studio/snapshot/snapshot_peaks.h"
#include "studio/snapshot/snapshot_work.h"

namespace ipex_studio {

enum class JobState {
  kEmpty,     // nothing is open
  kReady,     // a model is open, nothing was optimized yet
  kRecorded,  // recorded runs are open, the model is not at hand: nothing can be started
  kWorking,
  kDone,
  kFailed,
  kCancelled,
};

struct JobStatus {
  JobState state = JobState::kEmpty;
  std::string stage;              // "measure baseline"; set while kWorking
  double fraction = -1;           // of the whole job, 0..1; negative: unknown
  double eta_s = -1;              // negative: unknown
  std::string message;            // one sentence: why it failed, or where the export went
  ExitCode code = ExitCode::kOk;  // what a program that did this job alone ends with; `message` says why it is not kOk
};

enum class LogLevel { kInfo, kWarning, kError };

struct LogLine {
  double time_s = 0;  // since the program began
  LogLevel level = LogLevel::kInfo;
  std::string text;
  std::string path{};  // file that was written; empty: the line tells of none
};

// A precision chip of the run bar.
struct PrecisionChoice {
  Precision precision = Precision::kFp32;
  bool available = true;
  std::string reason;  // why it is not available, as a sentence: "This CPU has no BF16 instructions."
};

// The choices of the run bar, and those in force.
struct RunChoices {
  std::vector<PrecisionChoice> precisions;
  Precision precision = Precision::kFp32;
  std::int32_t threads = 1;
  std::int32_t max_threads = 1;
  std::uint64_t taken = 0;  // rises each time a measured point's choices take the place of the user's
};

// Earlier recorded runs.
struct RunHistory {
  std::vector<JobSummary> jobs;      // newest first
  std::vector<LibraryModel> models;  // of the jobs
  std::int64_t shown_job = 0;        // number of the job whose record the snapshot holds; 0: it is not recorded (yet)
  std::string message;               // why there is no history, as a sentence; empty otherwise
};

struct StudioSnapshot {
  std::uint64_t revision = 0;             // rises by one with each snapshot of a session
  std::shared_ptr<const JobRecord> job;   // never null; empty record when nothing is open
  std::shared_ptr<const JobIndex> index;  // never null
  JobStatus status;
  RunChoices choices;
  MachinePeaks peaks;                         // peaks of the machine that ran; unknown if that is another one
  std::shared_ptr<const RunHistory> history;  // never null
  std::shared_ptr<const RunSet> comparison;   // null: nothing is compared
  std::shared_ptr<const RunSet> precisions;   // the newest run of this model in each precision; null: there is only one
  std::shared_ptr<const std::vector<TuningEntry>>
      tunings;                                 // measurements of steps on machines like this one; null: there are none
  std::shared_ptr<const SourceRecord> source;  // null: not known
  OverrideState overrides;
  WorkState work;
  std::shared_ptr<const std::vector<WhatIf>> tries;  // never null; the newest last
  std::shared_ptr<const std::vector<LogLine>> log;   // never null
};

using SnapshotPtr = std::shared_ptr<const StudioSnapshot>;

// Everything that stands beside the records in a snapshot.
struct SnapshotParts {
  JobStatus status;
  RunChoices choices;
  MachinePeaks peaks;
  std::shared_ptr<const RunHistory> history;  // may be null: none
  std::shared_ptr<const RunSet> comparison;
  std::shared_ptr<const RunSet> precisions;
  std::shared_ptr<const std::vector<TuningEntry>> tunings;
  std::shared_ptr<const SourceRecord> source;
  OverrideState overrides;
  WorkState work;
  std::vector<WhatIf> tries;
  std::vector<LogLine> log;
};

// Beginning of a sentence on what to press: "Press Optimize", or the steps before it if only recorded runs are open.
std::string pressOptimize(const StudioSnapshot& snapshot);

// Why no job on the open model can be started now, as a sentence; empty if one can.
std::string whyNotStart(const StudioSnapshot& snapshot);
// Why nothing can be decided against the optimizer now, as a sentence; empty if it can.
std::string whyNotDecide(const StudioSnapshot& snapshot);
// Why the optimized model cannot be exported now, as a sentence; empty if it can.
std::string whyNotExport(const StudioSnapshot& snapshot);

// Builds the indexes, which takes tens of milliseconds for a large job, so a session's thread calls it. `job` may be
// null; its ids and strings are not trusted. `previous` may be null; its revision is counted on.
SnapshotPtr makeSnapshot(std::shared_ptr<const JobRecord> job, SnapshotParts parts, const SnapshotPtr& previous);

// A snapshot of the same records with other parts. Takes microseconds, as the indexes are shared.
SnapshotPtr withStatus(const SnapshotPtr& previous, SnapshotParts parts);

// The source of the window's snapshots: the session, or a test. All functions are called from the drawing thread,
// return at once and do not throw.
class SnapshotSource {
 public:
  virtual ~SnapshotSource() = default;
  // Never null. The same pointer until something changed.
  virtual SnapshotPtr latest() = 0;
  // Sets the function to call, from any thread, whenever latest() has changed; an empty function ends that. Once this
  // call has returned, the previous function is not called any more.
  virtual void setWakeup(std::function<void()> wake) = 0;
  virtual void post(Command command) = 0;
  // True while something is timed: only input is worth a frame. A call of `wake` ends that.
  virtual bool timed() { return false; }
  // Tells that a frame was drawn between two times of nowNs(); samples taken meanwhile do not count. `more`: other
  // work for the window goes on.
  virtual void drew(std::int64_t /*begin_ns*/, std::int64_t /*end_ns*/, bool /*more*/) {}
  // False while a posted command waits or runs.
  virtual bool idle() { return true; }
};

}  // namespace ipex_studio
