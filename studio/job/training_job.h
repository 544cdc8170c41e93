// The job of `train`: follows an engine that trains, and keeps its checkpoints and its result.
#pragma once

#include <memory>
#include <string>

#include "studio/job/session_job.h"

namespace ipex_studio {

// Where a training writes.
struct TrainingFiles {
  std::string output;
  // The checkpoint, which holds a whole state or is left as it was.
  std::string checkpoint() const { return output + ".checkpoint"; }
};

struct TrainingResult {
  std::int64_t step = 0;  // that the output stands at
  bool finished = false;  // false: it was stopped
};

// Trains the model. `job` receives all that is known as it comes, also if this throws. `events` hears of each report
// through onRecord(). When `stop` is requested the step in progress ends, and checkpoint and output are written. Throws
// Error; the last checkpoint then stands. One that cannot be written is a warning, since that before it stands, unless
// it is the last.
TrainingResult trainModel(const CheckedModel& model, const JobRequest& request, const TrainingFiles& files,
                          JobRecord& job, JobEvents& events, const Cancellation& stop);

}  // namespace ipex_studio
