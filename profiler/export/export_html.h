// The report: one HTML file with all results of a job. No script, nothing loaded from outside.
#pragma once

#include <string>
#include <vector>

#include "core/record/records.h"
#include "profiler/database.h"

namespace ipex_studio {

// `history`: jobs on the same model, newest first, for the chart over time (Database::jobs(…, sha256)); may be empty.
// `gains`: what passes gain, `curves`: how the model behaves over splits and batch sizes, where that was measured.
// Names from the model are escaped. Deterministic: equal records give equal bytes. Thread-safe.
std::string htmlReport(const JobRecord& job, const std::vector<JobSummary>& history = {},
                       const std::vector<PassGain>& gains = {}, const CurvesRecord& curves = {});

}  // namespace ipex_studio
