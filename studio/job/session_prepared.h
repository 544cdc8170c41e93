// An engine that waits for a decision. It loads and freezes the model and runs it in double precision in advance, so
// that after the decision only the work that the decision changes is left.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "studio/job/process.h"
#include "studio/job/session_files.h"
#include "studio/job/session_job.h"

namespace ipex_studio {

// Not thread-safe; used by the thread that made it alone.
class PreparedEngine {
 public:
  // Starts the engine and returns while it works. Throws Error if it cannot be started.
  PreparedEngine(const CheckedModel& model, const JobRequest& request, std::int32_t threads,
                 const Cancellation& cancellation);
  // True if `request` gives the engine the same model, inputs and threads. How it optimizes and how long it times may
  // differ.
  bool fits(const JobRequest& request, std::int32_t threads) const;
  // Waits until the engine is ready. False if it failed and is of no use. Throws Error(kInterrupted).
  bool wait();

  std::unique_ptr<JobFolder> folder;
  UniqueFd export_file;
  std::unique_ptr<EngineProcess> process;
  std::vector<nlohmann::json> said;  // its messages until it was ready, for the job that takes it over

 private:
  std::string keyOf(const JobRequest& request, std::int32_t threads) const;

  const CheckedModel& model_;
  std::string key_;
};

// True if there is memory for another engine with this model beside the one that ran it.
bool mayPrepare(const CheckedModel& model, const JobRequest& request);

}  // namespace ipex_studio
