// From the baseline's time to ours, by cause. Pure functions.
//
// Nodes of the baseline and our steps are joined by their origins. A step has the time of one or a few of its nodes,
// those that compute; the others are gone: folded into weights or fused into the step. What is left between the nodes
// that compute and the step is due to kernels, layouts and precision. All bars together are exactly the difference of
// the two medians:
//
//   before_ns - after_ns = Σ gain_ns
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/record/records.h"
#include "profiler/statistics.h"

namespace ipex_studio {

// In the order of bars.
enum class GainCause {
  kFolded,       // nodes that became part of weights or constants
  kRemoved,      // nodes that nothing stands for any more
  kFused,        // nodes that another step does in passing
  kKernels,      // the same computation by another kernel
  kLayouts,      // the chosen layout against the best kernel for a plain one, as tuning timed both
  kPrecision,    // steps below FP32, against the FP32 run of the same job where there is one
  kReorders,     // changes of layout
  kCasts,        // changes of precision
  kAdded,        // steps that stand for no node that was timed before
  kInterpreter,  // nodes that stayed with the interpreter
  kOutside,      // time of a run that belongs to no operation
};

// One place that a bar comes from.
struct WaterfallPart {
  std::string name;  // of the step, or of the node that is gone
  std::vector<OriginId> origins;
  std::int64_t gain_ns = 0;
};

struct WaterfallBar {
  GainCause cause = GainCause::kFolded;
  std::int64_t gain_ns = 0;          // negative: time was lost
  double half_width_ns = 0;          // of the 95 % interval
  std::vector<OriginId> origins;     // of all parts; sorted, unique
  std::vector<WaterfallPart> parts;  // largest first; none for kOutside
};

struct Waterfall {
  std::int64_t before_ns = 0;  // medians of whole runs
  std::int64_t after_ns = 0;
  double gain_low_ns = 0;  // 95 % interval of the difference
  double gain_high_ns = 0;
  std::vector<WaterfallBar> bars;  // empty: one of the two runs is missing or its steps were not timed
};

// Of the job's baseline and its last optimized run.
Waterfall waterfallOf(const JobRecord& job);

// The least and the largest time that the bars reach one after another, from 0: a chart's axis.
std::pair<double, double> rangeOf(const Waterfall& waterfall);

// The word of tables and JSON: "folded".
const char* causeName(GainCause cause);
// The words beside a bar: "Folded into weights".
const char* causeTitle(GainCause cause);
// What the cause means, as a sentence.
const char* causeMeaning(GainCause cause);
// The change of a run's time that a bar or part stands for, in ms: "−1.20" where time was gained.
std::string changeText(std::int64_t gain_ns);

}  // namespace ipex_studio
