// An engine that waits for a decision: the model is loaded, frozen and run in double precision before anybody asks, so that an
// answer takes no longer than what the decision changes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "studio/job/process.h"
#include "studio/job/session_files.h"
#include "studio/job/session_job.h"

namespace ipex_studio {

// Used by one thread, the one that made it.
class PreparedEngine {
 public:
  // Starts it and returns while it is at work. Throws Error where it cannot be started.
  PreparedEngine(const CheckedModel& model, const JobRequest& request, std::int32_t threads,
                 const Cancellation& cancellation);
  // Would `request` give it the same model, inputs and threads? How it is optimized and how long it is timed may differ.
  bool fits(const JobRequest& request, std::int32_t threads) const;
  // Until it is ready; false: it failed meanwhile and is of no use. Throws Error(kInterrupted).
  bool wait();

  std::unique_ptr<JobFolder> folder;
  UniqueFd export_file;
  std::unique_ptr<EngineProcess> process;
  std::vector<nlohmann::json> said;  // until it was ready; for who takes it over

 private:
  std::string keyOf(const JobRequest& request, std::int32_t threads) const;

  const CheckedModel& model_;
  std::string key_;
};

// True if there is memory for another engine with this model beside the one that ran it.
bool mayPrepare(const CheckedModel& model, const JobRequest& request);

}  // namespace ipex_studio
