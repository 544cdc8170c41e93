// CurvesRecord: how a model behaves over threads, instances, batch sizes and precisions, as `curves` measures it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ipex_studio {

// One way to run the model: so many instances side by side, each with so many threads, on batches of so many samples.
struct CurvePoint {
  std::string precision = "fp32";
  std::int64_t batch = 1;  // samples of a request
  std::int32_t threads = 1;
  std::int32_t instances = 1;
  std::vector<std::string> inputs;  // values of --input of this batch size; empty: as the model's user gave them

  std::int64_t requests = 0;       // that were timed; 0: the point was not measured
  double p50_ns = 0, p99_ns = 0;   // of a request
  std::vector<double> rate_per_s;  // requests answered per second, one value a round; rounds are interleaved
  std::int64_t memory_bytes = 0;   // resident memory of the engine while it ran so; 0: not known
  double sqnr_db = 0;              // of the results against the reference; NaN: not judged
  bool accurate = true;            // the results pass the rule that `run` judges by
  std::string noise;               // "quiet", "busy", "throttled"; empty: not known

  bool measured() const { return requests > 0; }
};

struct CurvesRecord {
  std::int64_t started_unix_ns = 0;
  std::vector<CurvePoint> points;
  std::vector<std::string> notes;  // what was left out and why, as sentences
  std::string noise;     // what stands beside a ratio: "quiet", "busy: other programs used …"; empty: unknown
  bool complete = true;  // false: it was interrupted, and the rounds until then are kept

  bool empty() const { return points.empty(); }
};

}  // namespace ipex_studio
