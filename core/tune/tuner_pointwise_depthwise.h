// PairTuner: measures two convolutions as one step (plan_pointwise_depthwise.h) against the two steps that were chosen
// for them. Private to the tuner.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/tune/tuner_bench.h"
#include "core/tune/tuner_graph.h"

namespace ipex_studio {

class PairTuner {
 public:
  // Everything that a measurement needs.
  struct Bench {
    const KernelList& kernels;
    TuningStore& store;
    const TuningKey& key;
    std::int32_t effort;
    double tolerance;
    double least_gain;  // fraction of the time of both steps
    BenchLimits limits;
    std::function<const TuningEntry*(std::size_t step)> entryOf;  // the measurements of a step; may return null
  };

  PairTuner(const PlanSpec& spec, const std::vector<TracedStep>& steps);

  // Measures pairs that the store does not know, and adds the kernels that compute both steps, within the tolerance, to
  // the alternatives of each pair. True if it added any.
  bool offer(const Bench& bench, const ChosenSteps& chosen, const ConversionCost& conversion,
             std::vector<std::vector<StepAlternative>>* alternatives);

  // Number of pairs to measure, equal ones counted once.
  std::int64_t distinctPairs() const;

  // The text of the pair that this step begins; empty: it begins none.
  std::string textOf(std::size_t step) const;
  // Measurements of the pair: both steps apart, then the kernels that compute both.
  const TuningEntry& entryOf(std::size_t step) const { return entries_.at(textOf(step)); }
  // True if a person pinned a kernel for any pair.
  bool anyPinned() const;

 private:
  struct Pair {
    std::size_t first = 0, second = 0;  // steps of the trace
    PrepareArgs args;                   // arguments of both as one step
  };

  TuningEntry measure(const Bench& bench, const Pair& pair, const TuningCandidate& first,
                      const TuningCandidate& second) const;

  const std::vector<TracedStep>& steps_;
  std::vector<Pair> pairs_;
  std::map<std::string, TuningEntry> entries_;
};

}  // namespace ipex_studio
