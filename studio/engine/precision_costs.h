// Costs of each operation per precision, and the assignment of precisions that is fastest for a given tolerance of
// noise.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/quantization/calibration_plan.h"
#include "core/record/records.h"

namespace ipex_studio {

// One precision per operation, in the order of operations.
using Assignment = std::string;
constexpr char kInFp32 = '0', kInInt8 = '1', kInBf16 = '2';

// One operation that may be lowered.
struct PrecisionChoice {
  RecipeNode node;
  std::vector<OriginId> origins;
  double fp32_ns = 0;     // median of its steps in the FP32 plan
  double low_ns = 0;      // the same in the plan where everything is INT8, its own reorders included
  double bf16_ns = 0;     // the same where everything is BF16; 0: not offered
  double noise = 0;       // relative noise power of the results with only this one in INT8: 10^(-SQNR/10)
  double bf16_noise = 0;  // the same in BF16
  double sqnr_db = 0;
  double cumulative_db = 0;  // NaN: not tried
};

// An operation that writes a value and one that reads it: where their precisions differ, a cast stands between.
struct PrecisionEdge {
  int writer = 0, reader = 0;
  double cast_ns = 0;
};

std::int32_t countOf(const Assignment& assignment, char precision);
// Name of an assignment for people: "fp32", "bf16", "int8, 3 operations in fp32".
std::string assignmentName(const Assignment& assignment);
// The reason for an operation's precision, as a clause.
const char* reasonOf(const PrecisionChoice& choice, char precision);

// The record of a choice: the lowest precision that was tried, and the final one. `has_bf16`: this machine computes
// BF16.
SensitivityRecord sensitivityOf(const PrecisionChoice& choice, char precision, bool has_bf16);

// A price of noise (see cheapest) at which the least noisy operation that gains anything stays FP32.
double highestPrice(const std::vector<PrecisionChoice>& choices);

// Marks the records that no other beats in both time and metric.
void markFront(const std::vector<TradeoffRecord*>& records, bool higher_is_better);

// Maps names of origins, as recipes write them, to ids.
std::map<std::string, OriginId> originsByKey(const std::vector<Origin>& origins);

// Time of each operation: the sum of the medians of its steps; a step of several operations counts in equal shares.
std::vector<double> timesOf(const std::vector<PrecisionChoice>& choices, const RunRecord& profiled);

// Edges between candidates, each with the time of moving its value at `bytes_per_ns` plus a call.
std::vector<PrecisionEdge> edgesOf(const CalibrationPlan& plan, const Recipe& recipe, double bytes_per_ns);

// The assignment with the least Σ time + casts + `price` · noise (price in ns per unit of relative noise power): a
// partitioned Boolean quadratic problem (core/base/pbqp.h), exact on chains and series-parallel graphs.
Assignment cheapest(const std::vector<PrecisionChoice>& choices, const std::vector<PrecisionEdge>& edges, double price);

}  // namespace ipex_studio
