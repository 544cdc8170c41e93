// One engine of a job, with its run so far.
#pragma once

#include <memory>
#include <vector>

#include "core/record/records.h"
#include "studio/job/process.h"
#include "studio/job/session_job.h"

namespace ipex_studio {

// Position of the timing rounds on the progress bar of a job.
constexpr double kRoundsBegin = 0.40, kRoundsEnd = 0.85;

struct ModelJob::Side {
  Side(std::unique_ptr<EngineProcess> engine, const char* variant) : process(std::move(engine)) {
    run.variant = variant;
  }

  std::unique_ptr<EngineProcess> process;
  RunRecord run;
  std::int64_t wall_ns = 0;
  std::int64_t cpu_ns = 0;
  double progress_begin = 0;  // range of the job's progress bar that the engine's progress fills
  double progress_end = 0;
};

}  // namespace ipex_studio
