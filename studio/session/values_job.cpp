// See values_job.h.
#include "studio/session/values_job.h"

namespace ipex_studio {

void ValuesJob::run(OriginId origin) {
  if (!model_.loaded()) throw Error(ExitCode::kUsage, "Open a model first; recorded runs have no values.");
  if (model_.trustIsAsked()) throw Error(ExitCode::kUsage, "Say first how far this model is to be trusted.");
  reporter_.setState(JobState::kWorking, "");
  runner_.dropPrepared();
  JobDatabase database(model_.databasePath());
  JobRequest request = model_.requestWith(decisions_.now(), database);
  request.optimize.dump_directory.clear();
  record_ = std::make_shared<const ValueRecord>(
      nodeValues(model_.checked(), request, "#" + std::to_string(origin), reporter_, cancellation_));
  reporter_.setState(runner_.hasJob() ? JobState::kDone : JobState::kReady, record_->remark);
}

}  // namespace ipex_studio
