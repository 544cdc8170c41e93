// The search for the first node at which the open model goes wrong.
#pragma once

#include "studio/session/decisions.h"
#include "studio/session/job_runner.h"
#include "studio/session/open_model.h"
#include "studio/session/reporter.h"
#include "studio/snapshot/snapshot_work.h"

namespace ipex_studio {

// Used by the working thread alone. The constructor's arguments must outlive it.
class BisectJob {
 public:
  BisectJob(OpenModel& model, const Decisions& decisions, JobRunner& runner, Reporter& reporter,
            const Cancellation& cancellation)
      : model_(model), decisions_(decisions), runner_(runner), reporter_(reporter), cancellation_(cancellation) {}

  // Optimizes the open model once more, with the choices in force, in an engine of its own. Throws Error.
  void run();
  const FirstWrongNodeState& state() const { return state_; }
  void clear() { state_ = FirstWrongNodeState(); }

 private:
  OpenModel& model_;
  const Decisions& decisions_;
  JobRunner& runner_;
  Reporter& reporter_;
  const Cancellation& cancellation_;

  FirstWrongNodeState state_;
};

}  // namespace ipex_studio
