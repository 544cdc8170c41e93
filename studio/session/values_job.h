// What the value of a node of the open model holds.
#pragma once

#include <memory>

#include "studio/session/decisions.h"
#include "studio/session/job_runner.h"
#include "studio/session/open_model.h"
#include "studio/session/reporter.h"

namespace ipex_studio {

// Used by the working thread alone. The constructor's arguments must outlive it.
class ValuesJob {
 public:
  ValuesJob(OpenModel& model, const Decisions& decisions, JobRunner& runner, Reporter& reporter,
            const Cancellation& cancellation)
      : model_(model), decisions_(decisions), runner_(runner), reporter_(reporter), cancellation_(cancellation) {}

  // Optimizes the open model once more, with the choices in force, in an engine of its own. Throws Error.
  void run(OriginId origin);
  // Null: nobody asked.
  const std::shared_ptr<const ValueRecord>& record() const { return record_; }
  void clear() { record_.reset(); }

 private:
  OpenModel& model_;
  const Decisions& decisions_;
  JobRunner& runner_;
  Reporter& reporter_;
  const Cancellation& cancellation_;

  std::shared_ptr<const ValueRecord> record_;
};

}  // namespace ipex_studio
