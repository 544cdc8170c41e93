// Tables for a terminal, as `run` and `compare` print them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/record/records.h"
#include "profiler/comparison.h"

namespace ipex_studio {

// Baseline against optimized with the speed-up and its interval, where the difference comes from, the ten slowest
// steps, and declined rewrites with their reasons. Lines fit into `width` columns (at least 60); `color` adds ANSI
// colors. Ends with a line feed.
std::string runTable(const JobRecord& job, std::size_t width, bool color);

// The rows that changed most between two runs.
std::string comparisonTable(const RunComparison& comparison, std::size_t width, bool color);

// The runs of recorded jobs, with the numbers that `compare` takes.
std::string jobTable(const std::vector<JobSummary>& jobs, std::size_t width, bool color);

}  // namespace ipex_studio
