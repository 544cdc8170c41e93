// JSON for scripts, a Chrome trace, and CSV. Pure functions; text is UTF-8 whatever bytes the model's names hold.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/record/records.h"
#include "profiler/comparison.h"

namespace ipex_studio {

// The output of `run --json` and `bench --json`. Schema 1:
//   {"schema":1,"model":{path,sha256,nodes},"machine":{cpu,isa,cores,threads,libtorch,onednn},
//    "runs":[{"variant","device","precision","threads","instances",
//             "latency_ms":{min,mean,p50,p90,p95,p99,max},"throughput_per_s","compile_ms","tune_ms","first_run_ms",
//             "peak_rss_mb","accuracy":{max_abs,max_rel,sqnr_db,cosine,pass},"coverage":{nodes,time}}],
//    "speedup_p50","speedup_ci95":[lo,hi]}
// MB are 10^6 bytes. The accuracy is null for a run that was compared with nothing, the speed-up unless both variants
// were measured.
nlohmann::json benchJson(const JobRecord& job);

// The output of `compare --json`: {"schema":1,"a":{…},"b":{…},"ratio_p50","ratio_ci95","rows":[…]}; times in ms.
nlohmann::json comparisonJson(const RunComparison& comparison);

// The output of `db list --json`: {"schema":1,"jobs":[{"job","recorded","command","model","sha256","name","pinned",
// "model_name","model_pinned","runs":[…],"training"}]}.
nlohmann::json jobsJson(const std::vector<JobSummary>& jobs);

// Chrome trace event format, also read by Perfetto: one process per run, one track per instance, one "X" event per
// sample of a step; times in µs.
std::string traceJson(const JobRecord& job);

// RFC 4180, one line per step of every run, header first. Text that a spreadsheet would take for a formula gets a
// leading apostrophe.
std::string stepsCsv(const JobRecord& job);

}  // namespace ipex_studio
