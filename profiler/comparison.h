// Two or more runs side by side: the steps that became faster or slower, with confidence intervals. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/record/records.h"
#include "profiler/database.h"
#include "profiler/statistics.h"

namespace ipex_studio {

// Steps of a and of b that come from the same nodes of the model. Steps are joined as far as they share an origin, so
// that convolution, batch norm and relu of one run stand beside the fused step of the other.
struct ComparedRow {
  std::string name;  // of b's steps, or of a's where b has none
  std::string kind;
  std::int32_t steps_a = 0;  // count
  std::int32_t steps_b = 0;  // count
  std::int64_t a_ns = 0;     // sum of medians
  std::int64_t b_ns = 0;
  std::string a_kernels;  // with commas between
  std::string b_kernels;
  std::int64_t delta_ns() const { return b_ns - a_ns; }
};

struct RunComparison {
  RunSummary a;
  RunSummary b;
  Interval ratio;                 // median of a / median of b: above 1, b is faster. Rounds are paired within one job
  std::vector<ComparedRow> rows;  // largest change first
  std::int64_t a_unattributed_ns = 0;
  std::int64_t b_unattributed_ns = 0;
  bool same_model = false;
  bool same_machine = false;  // all facts equal, library versions included
};

// A row of any number of runs, all compared with the first.
struct RunSetRow {
  std::string name;  // of the last run that has it
  std::string kind;
  std::vector<OriginId> origins;      // ids of that run's model; sorted
  std::vector<std::int32_t> steps;    // count per run
  std::vector<std::int64_t> p50_ns;   // sum of medians per run; 0: the run has no such step
  std::vector<std::int64_t> copy_ns;  // the part of it that copies between devices take
  std::vector<std::int64_t> copies;   // count of these per run
  std::vector<std::string> kernels;   // per run, with commas between; copies are left out
};

struct RunSet {
  std::vector<RunSummary> runs;
  std::vector<Interval> ratio;  // median of the first / median of this: above 1, this one is faster
  std::vector<RunSetRow> rows;  // largest change between the first and the last run first
  std::vector<std::int64_t> unattributed_ns;
  bool same_model = true;
  bool same_machine = true;
};

// `runs`: jobs, each with the place of a run in it; at least one. Ids stay 0 without a database.
RunSet compareRunSet(const std::vector<std::pair<const JobRecord*, std::size_t>>& runs);
RunSet compareRunSet(const Database& database, const std::vector<std::int64_t>& run_ids);

// Compares runs of one job, or of two. `summary` fields that only the database knows (ids) stay 0.
RunComparison compareRuns(const JobRecord& job_a, std::size_t run_a, const JobRecord& job_b, std::size_t run_b);

// Compares runs of a database, by id. Throws Error(kDatabase) if one does not exist.
RunComparison compareRuns(const Database& database, std::int64_t run_a, std::int64_t run_b);

}  // namespace ipex_studio
