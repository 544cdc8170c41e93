// Regions: maximal static parts of a graph, each replaced by one node on a TorchBind object.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/origins.h"
#include "core/record/records.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

// The code that a region replaces, as a graph of its own. It runs where no plan can take the inputs, and where it is
// faster than a plan.
struct RegionCode {
  // Takes the region's tensors and then its integers, in their order, and returns its results. Constants are nodes.
  // Null: a node reads a value that the region does not get.
  std::shared_ptr<torch::jit::Graph> graph;
  std::vector<std::vector<OriginId>> origins;  // of its nodes in order
  int nodes = 0;                               // those that are in the region, without what carries their operands
  // The tensor of the graph, as at::TensorImpl, that each constant of the region was made from.
  std::vector<const void*> constant_sources;
};

struct RegionResult {
  // Attribute name and object, to be registered on the module: constants of class type cannot be saved in a graph.
  std::vector<std::pair<std::string, torch::jit::IValue>> attributes;
  std::vector<RegionCode> code;  // per attribute
  int nodes_inside = 0;          // of the graph before, without constants
  int nodes_total = 0;
  std::vector<Remark> remarks;  // nodes that stayed outside, with the reason; nodes that went inside
};

// True for nodes that stay with the interpreter though they could be lowered. May be empty: none.
using LeftOut = std::function<bool(const torch::jit::Node*)>;

// Splits `graph` (whose first input is the module) into regions and the nodes that the interpreter keeps: the top
// level, the branches of conditions and the bodies of loops, each on its own. A node of a region depends only on
// earlier regions and earlier interpreter nodes; nothing moves across a node with side effects, and values whose
// strides are read have those of the model. Regions of fewer than `min_ops` operations that compute something are not
// made.
RegionResult buildRegions(torch::jit::Graph& graph, OriginTable& origins, const LeftOut& left_out = {},
                          int min_ops = 1);

}  // namespace ipex_studio
