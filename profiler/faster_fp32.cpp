// See faster_fp32.h.
#include "profiler/faster_fp32.h"

#include <algorithm>

namespace ipex_studio {
namespace {

// The number of the job's optimized run in this precision on this device; 0: none.
std::int64_t optimizedRun(const JobSummary& job, const std::string& precision, const std::string& device) {
  const auto found = std::find_if(job.runs.begin(), job.runs.end(), [&](const RunSummary& run) {
    return run.variant == "optimized" && run.precision == precision && run.device == device;
  });
  return found == job.runs.end() ? 0 : found->id;
}

}  // namespace

std::vector<std::int64_t> newestRuns(const std::vector<JobSummary>& jobs, const JobSummary& shown,
                                     const std::vector<std::string>& precisions) {
  std::vector<std::int64_t> newest;
  // The last run of a job is the one that was asked for, those before it were measured beside it.
  const std::string device = shown.runs.empty() ? "cpu" : shown.runs.back().device;
  for (const std::string& precision : precisions) {
    std::int64_t id = optimizedRun(shown, precision, device);
    for (auto other = jobs.begin(); other != jobs.end() && id == 0; ++other) {
      if (other->sha256 == shown.sha256) id = optimizedRun(*other, precision, device);
    }
    newest.push_back(id);
  }
  return newest;
}

std::optional<RunSummary> fasterFp32(const RunSet& set, const std::string& precision) {
  const auto of = [&](const std::string& wanted) {
    return std::find_if(set.runs.begin(), set.runs.end(),
                        [&](const RunSummary& run) { return run.precision == wanted; });
  };
  const auto fp32 = of("fp32"), lower = of(precision);
  if (precision == "fp32" || fp32 != set.runs.begin() || lower == set.runs.end() || !set.same_machine)
    return std::nullopt;
  if (fp32->threads != lower->threads || fp32->instances != lower->instances) return std::nullopt;
  // All runs are compared with the first.
  const Interval& ratio = set.ratio[static_cast<std::size_t>(lower - set.runs.begin())];
  return ratio.value > 0 && ratio.high < 1 ? std::optional(*fp32) : std::nullopt;
}

}  // namespace ipex_studio
