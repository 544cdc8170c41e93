// Copies the code that a region replaces. Private to regions.cpp.
#pragma once

#include <unordered_map>
#include <vector>

#include "core/graph/origins.h"
#include "core/lower/region_levels.h"
#include "core/lower/region_spec.h"
#include "core/lower/regions.h"

namespace ipex_studio {

// Copies `nodes`, which are in the order of the graph, with the lists and sizes between them. `replaced`: results of
// earlier regions, by the value that they replaced. Tensors that a node reads for their dtype alone become constants of
// that dtype and rank.
RegionCode copyRegionCode(const std::vector<const PlacedNode*>& nodes, const RegionSpec& spec,
                          const std::vector<torch::jit::Value*>& outputs,
                          const std::unordered_map<torch::jit::Value*, torch::jit::Value*>& replaced,
                          const OriginTable& origins);

}  // namespace ipex_studio
