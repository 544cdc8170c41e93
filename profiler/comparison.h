// Two runs side by side: what became faster, what slower, and how sure that is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/plan/records.h"
#include "profiler/database.h"
#include "profiler/statistics.h"

namespace ipex_studio {

// Steps of a and of b that stem from the same nodes of the model. Steps are joined as far as they share an origin, so
// that convolution, batch norm and relu of one run stand beside the fused step of the other.
struct ComparedRow {
  std::string name;  // of b's steps, or of a's where b has none
  std::string kind;
  std::int32_t steps_a = 0;  // count
  std::int32_t steps_b = 0;  // count
  std::int64_t a_ns = 0;     // sum of medians
  std::int64_t b_ns = 0;
  std::int64_t delta_ns() const { return b_ns - a_ns; }
};

struct RunComparison {
  RunSummary a;
  RunSummary b;
  Interval ratio;                 // median of a / median of b: above 1, b is faster. Paired by turn within one job
  std::vector<ComparedRow> rows;  // largest change first
  std::int64_t a_unattributed_ns = 0;
  std::int64_t b_unattributed_ns = 0;
  bool same_model = false;
  bool same_machine = false;  // all facts equal, library versions included
};

// Runs of one job, or of two. `summary` fields that only the database knows (ids) stay 0.
RunComparison compareRuns(const JobRecord& job_a, std::size_t run_a, const JobRecord& job_b, std::size_t run_b);

// Runs of a database, by id. Throws Error(kDatabase) when one does not exist.
RunComparison compareRuns(const Database& database, std::int64_t run_a, std::int64_t run_b);

}  // namespace ipex_studio
