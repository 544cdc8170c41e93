// What each operation costs in a precision, and the assignment of precisions that is fastest for a given tolerance of noise.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/plan/records.h"
#include "core/quantization/calibration_plan.h"

namespace ipex_studio {

// One operation that may be lowered.
struct PrecisionChoice {
  RecipeNode node;
  std::vector<OriginId> origins;
  double fp32_ns = 0;        // median of its steps in the FP32 plan
  double low_ns = 0;         // and in the plan where everything is lowered, its own reorders included
  double noise = 0;          // relative noise power of the results with it alone lowered: 10^(-SQNR/10)
  double sqnr_db = 0;
  double cumulative_db = 0;  // NaN: not tried
};

// Two operations that read and write one value: where only one of them is lowered, a cast stands between.
struct PrecisionEdge {
  int writer = 0, reader = 0;
  double cast_ns = 0;
};

// Names of origins as recipes write them, to ids.
std::map<std::string, OriginId> originsByKey(const std::vector<Origin>& origins);

// Adds up the medians of the steps that belong to each operation; steps of several are shared out evenly.
std::vector<double> timesOf(const std::vector<PrecisionChoice>& choices, const RunRecord& profiled);

// Edges between candidates, each with the time of moving its value at `bytes_per_ns` plus a call.
std::vector<PrecisionEdge> edgesOf(const CalibrationPlan& plan, const Recipe& recipe, double bytes_per_ns);

// Per operation: lowered or not. Least Σ time + casts + `price` · noise (ns per unit of relative noise power); a
// partitioned Boolean quadratic problem (core/plan/pbqp.h), exact on chains and series-parallel graphs.
std::vector<bool> cheapest(const std::vector<PrecisionChoice>& choices, const std::vector<PrecisionEdge>& edges, double price);

}  // namespace ipex_studio
