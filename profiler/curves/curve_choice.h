// The best of measured points, and what to say about them. Pure functions, thread-safe.
#pragma once

#include <optional>
#include <string>

#include "core/record/curves_record.h"
#include "profiler/statistics.h"

namespace ipex_studio {

// Indexes into CurvesRecord::points. Points whose results are wrong are never chosen; among those within 1 % of the
// best the one that uses fewer cores, then the smaller batch.
struct CurveChoice {
  std::optional<std::size_t> throughput;    // most samples per second
  std::optional<std::size_t> latency;       // least time of a request
  std::optional<std::size_t> within_limit;  // most samples per second whose p99 is within the limit
};
// `limit_ms`: 0: none.
CurveChoice chooseCurvePoints(const CurvesRecord& curves, double limit_ms = 0);

// Medians over rounds.
double requestsPerSecond(const CurvePoint& point);
double samplesPerSecond(const CurvePoint& point);

// Requests per second of `a` over those of `b`: the median of the ratios of rounds, with its 95 % interval. All zero if
// one was not measured.
Interval rateRatio(const CurvePoint& a, const CurvePoint& b);

// "2 instances of 1 thread"; with batch and precision: "2 instances of 1 thread at batch 4 in bf16".
std::string splitText(const CurvePoint& point);
std::string pointText(const CurvePoint& point);
// Flags of `ipex-studio run` for the point: "--threads 1 --instances 2 --precision fp32 --input x:4x3x224x224:float32".
std::string pointFlags(const CurvePoint& point);

// "2 instances of 1 thread at batch 4: 1.80 x the requests/s of 1 instance of 2 threads (95 % 1.75 to 1.84)." What is
// compared with is one instance with the most threads at the same batch size and precision. Empty: nothing to say.
std::string curvesSentence(const CurvesRecord& curves);

}  // namespace ipex_studio
