// Whether a model in a lower precision is slower than it was in FP32. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profiler/comparison.h"

namespace ipex_studio {

// The newest optimized run of the model of `shown` in each of `precisions` on its device, that job's own first; 0 where
// there is none.
std::vector<std::int64_t> newestRuns(const std::vector<JobSummary>& jobs, const JobSummary& shown,
                                     const std::vector<std::string>& precisions);

// The FP32 run among `set`, runs of one model, that is clearly faster than its run in `precision` and was measured with
// as many threads and instances on the same machine; nullopt: there is none.
std::optional<RunSummary> fasterFp32(const RunSet& set, const std::string& precision);

}  // namespace ipex_studio
