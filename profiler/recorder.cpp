#include "profiler/recorder.h"

#include <utility>

namespace ipex_studio {

void Recorder::onRun(const RunRecord& run) {
  RunRecord complete = run;
  if (complete.steps.empty()) complete.steps = std::exchange(steps_, {});
  if (complete.dispatches.empty()) complete.dispatches = std::exchange(dispatches_, {});
  steps_.clear();
  dispatches_.clear();
  job_.runs.push_back(std::move(complete));
}

}  // namespace ipex_studio
