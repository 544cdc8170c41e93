// A request that measures no longer than a test needs.
#pragma once

#include "studio/job/session_job.h"

namespace ipex_studio::testing {

inline JobRequest quickRequest() {
  JobRequest request;
  request.measure.threads = 1;
  request.measure.warmup_s = 0.01;
  request.measure.iterations = 10;
  return request;
}

}  // namespace ipex_studio::testing
