// The PlanSpec of a region, and the graph values it reads. Private to regions.cpp.
#pragma once

#include <vector>

#include "core/graph/origins.h"
#include "core/lower/region_levels.h"
#include "core/op/plan_spec.h"

namespace ipex_studio {

struct RegionSpec {
  PlanSpec plan;
  std::vector<at::Tensor> constants;              // row-major
  std::vector<const void*> constant_sources;      // the at::TensorImpl that each was made from
  std::vector<torch::jit::Value*> tensor_inputs;  // in order of the plan's tensor inputs
  std::vector<torch::jit::Value*> int_inputs;     // in order of the plan's integer inputs
};

// `outputs`: values of the region that are read outside of it, in order.
RegionSpec makeRegionSpec(const std::vector<const PlacedNode*>& nodes, const std::vector<torch::jit::Value*>& outputs,
                          const OriginTable& origins);

}  // namespace ipex_studio
