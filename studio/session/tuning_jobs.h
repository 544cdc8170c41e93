// Jobs that make the open model faster than the first optimization: recipes from data, searched precisions, kernels
// measured at length. Each goes on where it was interrupted.
#pragma once

#include <string>

#include "studio/session/decisions.h"
#include "studio/session/job_runner.h"
#include "studio/session/open_model.h"
#include "studio/session/reporter.h"
#include "studio/snapshot/commands.h"

namespace ipex_studio {

// Used by the working thread alone. The constructor's arguments must outlive it.
class TuningJobs {
 public:
  TuningJobs(OpenModel& model, Decisions& decisions, JobRunner& runner, Reporter& reporter,
             const Cancellation& cancellation)
      : model_(model), decisions_(decisions), runner_(runner), reporter_(reporter), cancellation_(cancellation) {}

  // Carries out a command. Throws Error; an interrupted job can then go on.
  void run(const TuneCommand& command);

  // Finds out which interrupted jobs on the open model wait.
  void lookForInterrupted();
  void forgetInterrupted() { calibration_waits_ = search_waits_ = false; }
  bool calibrationWaits() const { return calibration_waits_; }
  bool searchWaits() const { return search_waits_; }

 private:
  void makeRecipe(const TuneCommand& command, const JobRequest& request);
  void searchAssignments(const TuneCommand& command, const JobRequest& request);
  // The state file of an interrupted job on the open model; empty if there is none.
  std::string statePath(const char* what) const;

  OpenModel& model_;
  Decisions& decisions_;
  JobRunner& runner_;
  Reporter& reporter_;
  const Cancellation& cancellation_;

  bool calibration_waits_ = false;
  bool search_waits_ = false;
};

}  // namespace ipex_studio
