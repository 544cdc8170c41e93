// Collects what an engine reports until it is complete enough to be written as one transaction.
#pragma once

#include "core/record/records.h"

namespace ipex_studio {

// Steps and dispatch choices belong to the next run that is reported, unless that run carries its own.
// Not thread-safe; costs a copy per record.
class Recorder : public Observer {
 public:
  // `job` holds what is known from the start: command, options, start, model, machine.
  explicit Recorder(JobRecord job) : job_(std::move(job)) {}

  void onPass(const PassRecord& pass) override { job_.passes.push_back(pass); }
  void onRemark(const Remark& remark) override { job_.remarks.push_back(remark); }
  void onDispatch(const DispatchRecord& dispatch) override { dispatches_.push_back(dispatch); }
  void onStep(const StepRecord& step) override { steps_.push_back(step); }
  void onRun(const RunRecord& run) override;

  // What is collected so far; facts that come late (node count, origins, library versions) are set here.
  JobRecord& job() { return job_; }

 private:
  JobRecord job_;
  std::vector<StepRecord> steps_;
  std::vector<DispatchRecord> dispatches_;
};

}  // namespace ipex_studio
