// Splits the cores into instances and threads for --hint, by measuring a few splits.
#pragma once

#include <string>
#include <vector>

#include "core/model/model.h"

namespace ipex_studio {

struct Split {
  std::int32_t instances = 1;
  std::int32_t threads = 1;
  double latency_ms = 0;  // median of a request
  double requests_per_s = 0;
};

// Splits worth measuring, most threads per instance first: all cores, then powers of two below. One instance for
// kLatency.
std::vector<Split> splitsOf(std::int32_t cores, Hint hint);

// The best of measured splits: least latency, or most requests per second. Among those within 1 % of the best, the one
// with fewer instances (kThroughput) or threads (kLatency), which leaves more to others.
Split bestSplit(const std::vector<Split>& measured, Hint hint);

// Measures every split twice, interleaved, and returns the best. `sentence` gets one sentence with all figures.
Split chooseSplit(torch::jit::Module& module, const Inputs& inputs, std::int32_t cores, Hint hint,
                  std::string* sentence);

}  // namespace ipex_studio
