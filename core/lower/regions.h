// Regions: maximal static parts of a graph, each replaced by one node on a TorchBind object.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/graph/origins.h"
#include "core/record/records.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

struct RegionResult {
  // Attribute name and object, to be registered on the module: constants of class type cannot be saved in a graph.
  std::vector<std::pair<std::string, torch::jit::IValue>> attributes;
  int nodes_inside = 0;          // of the graph before, without constants
  int nodes_total = 0;
  std::vector<Remark> remarks;  // nodes that stayed outside, with the reason; nodes that went inside
};

// Splits `graph` (whose first input is the module) into regions and the nodes that the interpreter keeps: the top
// level, and the branches of conditions that are not in loops, each on its own. A node of a region depends only on
// earlier regions and earlier interpreter nodes; nothing moves across a node with side effects, and values whose
// strides are read have those of the model. Regions of fewer than `min_ops` operations that compute something are not
// made.
RegionResult buildRegions(torch::jit::Graph& graph, OriginTable& origins, int min_ops = 1);

}  // namespace ipex_studio
