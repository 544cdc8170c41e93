// The curves of the open model: how it behaves over threads, instances, batch sizes and precisions.
#pragma once

#include <memory>
#include <string>

#include "core/record/curves_record.h"
#include "studio/session/decisions.h"
#include "studio/session/job_runner.h"
#include "studio/session/open_model.h"
#include "studio/session/reporter.h"

namespace ipex_studio {

// Used by the working thread alone. The constructor's arguments must outlive it.
class CurvesJob {
 public:
  CurvesJob(OpenModel& model, Decisions& decisions, JobRunner& runner, Reporter& reporter,
            const Cancellation& cancellation)
      : model_(model), decisions_(decisions), runner_(runner), reporter_(reporter), cancellation_(cancellation) {}

  // Measures, publishes what is known after each round, and records it; the last job stays as it is. What was measured
  // until the user cancels is kept. Throws Error.
  void measure(const CurvesRequest& wanted);
  // Takes the point's threads, instances, batch size and precision for the next runs; returns a sentence about it.
  // Throws Error(kUsage).
  std::string use(const CurvePoint& point);
  // Shows what was measured of the open model before, and of a recorded job or its model.
  void lookForEarlier();
  void show(const Database& database, std::int64_t id, const JobRecord& job);
  // Null: there are none.
  const std::shared_ptr<const CurvesRecord>& record() const { return record_; }
  void clear() { record_.reset(); }

 private:
  void show(CurvesRecord curves);

  OpenModel& model_;
  Decisions& decisions_;
  JobRunner& runner_;
  Reporter& reporter_;
  const Cancellation& cancellation_;

  std::shared_ptr<const CurvesRecord> record_;
};

}  // namespace ipex_studio
