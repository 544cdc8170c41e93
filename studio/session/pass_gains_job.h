// The measurement of what single passes gain, by leaving out one at a time.
#pragma once

#include <string>
#include <vector>

#include "studio/session/job_runner.h"
#include "studio/session/open_model.h"
#include "studio/session/reporter.h"
#include "studio/snapshot/snapshot_work.h"

namespace ipex_studio {

// Used by the working thread alone. The constructor's arguments must outlive it.
class PassGainsJob {
 public:
  PassGainsJob(OpenModel& model, JobRunner& runner, Reporter& reporter)
      : model_(model), runner_(runner), reporter_(reporter) {}

  // Takes some seconds a pass; each is published and recorded as it is known. `recorded_as`: the last job's number in
  // the database; 0: it is not there. Throws Error, after which the runner must be dropped.
  void measure(const std::vector<std::string>& passes, std::int64_t recorded_as);
  // Shows what was measured of a recorded job.
  void show(PassGains gains) { gains_ = std::move(gains); }
  const PassGains& gains() const { return gains_; }

 private:
  void add(const PassGain& gain);

  OpenModel& model_;
  JobRunner& runner_;
  Reporter& reporter_;

  PassGains gains_;
};

}  // namespace ipex_studio
