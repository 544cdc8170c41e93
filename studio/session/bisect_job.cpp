// See bisect_job.h.
#include "studio/session/bisect_job.h"

#include "studio/snapshot/bisect_text.h"

namespace ipex_studio {

void BisectJob::run() {
  if (!model_.loaded()) throw Error(ExitCode::kUsage, "Open a model first; recorded runs have no nodes to compare.");
  if (model_.trustIsAsked()) throw Error(ExitCode::kUsage, "Say first how far this model is to be trusted.");
  state_ = FirstWrongNodeState();
  reporter_.setState(JobState::kWorking, "");
  runner_.dropPrepared();
  JobDatabase database(model_.databasePath());
  JobRequest request = model_.requestWith(decisions_.now(), database);
  request.optimize.dump_directory.clear();
  const BisectRecord found = bisect(model_.checked(), nullptr, request, reporter_, cancellation_);
  state_.sentence = bisectSentence(found);
  state_.found = std::make_shared<const BisectRecord>(found);
  reporter_.log(found.wrong.empty() ? LogLevel::kInfo : LogLevel::kWarning, state_.sentence);
  reporter_.setState(runner_.hasJob() ? JobState::kDone : JobState::kReady, state_.sentence);
}

}  // namespace ipex_studio
