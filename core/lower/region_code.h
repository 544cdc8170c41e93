// The code that a region replaces, as a graph of its own. Private to regions.cpp.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "core/graph/origins.h"
#include "core/lower/region_levels.h"
#include "core/lower/region_spec.h"
#include "core/lower/regions.h"

namespace ipex_studio {

// Copies the nodes of a region, with the constants, lists and sizes that they read, before they are replaced.
// `replaced`: the results of earlier regions by the values that these stand for. The graph is null if the nodes read
// values that the region does not take.
RegionCode copyRegionCode(const RegionLevels& levels, const std::vector<const PlacedNode*>& nodes,
                          const RegionSpec& spec, const std::vector<torch::jit::Value*>& outputs,
                          const std::unordered_map<torch::jit::Value*, torch::jit::Value*>& replaced,
                          const OriginTable& origins);

}  // namespace ipex_studio
