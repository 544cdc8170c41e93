// The origins of nodes in a graph that runs and has no table of them.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "core/record/records.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

// They are told by place alone: module path and kind. Where the graph has as many nodes at a place as the frozen one
// they are those, one by one; else all of the module stand for each, and for a node of no module none.
class PlaceOrigins {
 public:
  PlaceOrigins(torch::jit::Graph& graph, const std::vector<Origin>& origins);
  std::vector<OriginId> of(const torch::jit::Node* node) const;

 private:
  std::unordered_map<std::string, std::vector<OriginId>> in_module_;
  std::unordered_map<const torch::jit::Node*, OriginId> of_node_;
};

}  // namespace ipex_studio
