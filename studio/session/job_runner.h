// Jobs on the open model: optimize, measure and record; measure decisions against those in force.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "studio/job/session_job.h"
#include "studio/job/session_precision.h"
#include "studio/job/session_prepared.h"
#include "studio/session/decisions.h"
#include "studio/session/history.h"
#include "studio/session/open_model.h"
#include "studio/session/reporter.h"
#include "studio/session/trials.h"

namespace ipex_studio {

// Used by the working thread alone; its engines die with that thread. The constructor's arguments must outlive it.
// Functions that run a job throw Error, after which drop() must be called.
class JobRunner {
 public:
  JobRunner(OpenModel& model, Decisions& decisions, History& history, Trials& trials, Reporter& reporter,
            const Cancellation& cancellation);

  // Optimizes and measures the open model with the current decisions, records and publishes that. `found`: the search
  // whose choice this is, for the record; may be null.
  void start(PrecisionSearchResult* found = nullptr);
  // Shows the graph of the open model and what is recorded of it; nothing is run.
  void showGraph();
  // Measures the current decisions against those in force by interleaved timing; the result takes their place.
  void tryDecisions();
  // Measures what a pass gains, by the last job against one without the pass; nullopt, and a line in the log, if that
  // cannot run. The last job stays as it is. `events`: of the job without.
  std::optional<PassGain> gainOf(const std::string& pass, JobEvents& events);
  // Carries out JobEvents::onMeasured() of a try.
  void judged(const JobRecord& job);

  // The last job, whose engine waits for exports; null: there is none.
  ModelJob* job() { return job_.get(); }
  bool hasJob() const { return job_ != nullptr; }
  // Starts an engine that prepares the next try, whatever will be decided.
  void prepareTry(JobDatabase& database);
  // Ends the engine that waits for the next try, as it shares the machine with engines that are timed.
  void dropPrepared() { prepared_.reset(); }
  // Ends all engines.
  void drop();

  // Shows the choices of a recorded job, and measures this machine's limits if it was recorded here.
  void showRecorded(const JobRecord& job);
  const RunChoices& choices() const { return choices_; }
  // Offers a precision and threads in the place of what the user has chosen.
  void offer(Precision precision, std::int32_t threads);
  const MachinePeaks& peaks() const { return peaks_; }

 private:
  // Throws unless jobs can run on the open model; offers what its machine can do.
  void begin();
  void rewrite();
  // The request of tryDecisions(). `previous`: the job that they are measured against.
  JobRequest tryRequest(const JobRecord& previous, JobDatabase& database) const;
  // Reads what the database knows about the job's model. `id`: its number there; 0 if it is not there.
  void readPast(const Database& database, std::int64_t id);
  void measurePeaksOf(const MachineFacts& machine, std::int32_t threads);

  OpenModel& model_;
  Decisions& decisions_;
  History& history_;
  Trials& trials_;
  Reporter& reporter_;
  const Cancellation& cancellation_;

  std::unique_ptr<ModelJob> job_;
  std::unique_ptr<PreparedEngine> prepared_;  // for the next try; may be null
  std::chrono::steady_clock::time_point try_begin_{};
  RunChoices choices_;
  MachinePeaks peaks_;  // unknown where another machine ran
};

}  // namespace ipex_studio
