// --hint: how a machine's cores are best split into instances and threads, found by measuring a few splits.
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

// Splits worth measuring, most threads per instance first: all cores, and powers of two below. kLatency: of one instance.
std::vector<Split> splitsOf(std::int32_t cores, Hint hint);

// The best of measured splits: least latency, or most requests per second. Among those within 1 % of the best the one
// with fewer instances (kThroughput) or threads (kLatency), which leaves more to others.
Split bestSplit(const std::vector<Split>& measured, Hint hint);

// Measures every split twice, interleaved, and returns the best. `say` gets one sentence with all figures.
Split chooseSplit(torch::jit::Module& module, const Inputs& inputs, std::int32_t cores, Hint hint,
                  std::string* sentence);

}  // namespace ipex_studio
