// Summaries of a run's raw records: the numbers that tables, reports and comparisons show. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/records.h"
#include "profiler/statistics.h"

namespace ipex_studio {

// One plan step, or one node left to the interpreter, over all iterations and instances.
struct StepSummary {
  std::int32_t step = -1;  // StepRecord::index; -1: interpreter
  std::string name;
  std::string kind;
  std::string kernel;  // "interpreter" if step < 0
  std::string implementation;
  std::string device = "cpu";  // StepRecord::device
  std::string src_layout;
  std::string dst_layout;
  std::string dst_shape;
  std::int32_t micro_batches = 1;  // StepRecord::micro_batches
  double runs = 1;                 // StepRecord::runs
  std::string precision;
  std::vector<OriginId> origins;
  std::int64_t samples = 0;
  std::int64_t p50_ns = 0;  // of all runs in one run of the model
  std::int64_t p99_ns = 0;
  double share = 0;  // of the run's median, 0..1, all shares together at most 1
  std::int64_t flops = 0;
  double gflops_per_s = 0;  // 0: unknown
};

struct RunDigest {
  LatencyStats latency;
  double throughput_per_s = 0;       // all instances together
  std::vector<StepSummary> steps;    // in order of execution; empty if the run was not profiled
  std::int64_t steps_p50_ns = 0;     // sum over steps
  std::int64_t unattributed_ns = 0;  // run median - steps; 0 without steps
  double step_scale = 1;             // stepScale(): all times of steps were multiplied by it
};

// Steps are timed in runs of their own, which profiling and noise make longer. Where all steps together take longer
// than a run, their times are multiplied by this, so that they sum to it; else 1.
double stepScale(double steps_ns, double run_ns);
// A clause that says so: "the runs in which steps were timed took 1.3 times as long; scaled"; empty for 1.
std::string stepScaleText(double scale);

// All samples of one step, or of one node left to the interpreter, from all instances.
struct StepSamples {
  const StepTime* first = nullptr;  // lives as long as the run
  std::vector<std::int64_t> elapsed_ns;
};

// In order of execution, as RunDigest::steps, which has an entry for each.
std::vector<StepSamples> stepSamples(const RunRecord& run);

RunDigest digestOf(const RunRecord& run);

// Returns "1x64x56x56", or "8 × 2x64x56x56" if a batch is computed in eight micro-batches, or a loop has eight rounds.
std::string shapeText(const std::string& dst_shape, std::int32_t micro_batches, double runs);

// Indices of `steps`, slowest first.
std::vector<std::size_t> slowestFirst(const std::vector<StepSummary>& steps);

// The first run of a variant; null if there is none. The pointer lives as long as the job.
const RunRecord* findRun(const JobRecord& job, std::string_view variant);

// Median of "baseline" over median of "optimized" with its interval, rounds paired. All zero unless both were measured.
Interval speedupOf(const JobRecord& job);

// Missed remarks grouped by reason, most frequent first.
struct MissedReason {
  std::string reason;
  std::vector<const Remark*> remarks;  // into the job
};
std::vector<MissedReason> missedReasons(const JobRecord& job);

}  // namespace ipex_studio
