// Regions that lose against the interpreter: what giving them up needs to know of how they were made, and giving them
// up with times of any origin. Private to passes/*.cpp and to tests.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/graph/origins.h"
#include "core/lower/regions.h"
#include "core/model/region_trial.h"
#include "passes/optimize.h"

namespace ipex_studio {

using ValueTypes = std::unordered_map<std::size_t, c10::TypePtr>;  // by Value::unique(), which a graph never reuses

struct RegionHistory {
  OriginTable origins;
  std::vector<RegionCode> code;  // per region
  ValueTypes types;              // of the graph's values, with the sizes of the example, which the graph itself forgets
  int nodes_total = 0;           // of which regions take their share
};

// The types of all values of a graph.
ValueTypes typesOf(torch::jit::Graph& graph);

// As timeRegion().
using RegionTimer = std::function<std::optional<PairedTimes>(
    const torch::jit::IValue& region, const std::shared_ptr<torch::jit::Graph>& code,
    const std::vector<torch::jit::IValue>& tensors, const std::vector<torch::jit::IValue>& ints,
    const TrialLimits& limits)>;

// eliminateSlowRegions() with times from elsewhere.
void eliminateSlowRegions(OptimizedModel& model, const Inputs& example, const OptimizeOptions& options,
                          Observer& observer, const RegionTimer& timer);

}  // namespace ipex_studio
