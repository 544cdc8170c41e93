// See place_origins.h.
#include "core/model/place_origins.h"

#include <map>
#include <utility>

#include "core/graph/origins.h"

namespace ipex_studio {

PlaceOrigins::PlaceOrigins(torch::jit::Graph& graph, const std::vector<Origin>& origins) {
  using Place = std::pair<std::string, std::string>;
  std::map<Place, std::vector<OriginId>> at_place;
  for (const Origin& origin : origins) {
    at_place[{origin.module_path, origin.kind}].push_back(origin.id);
    if (!origin.module_path.empty()) in_module_[origin.module_path].push_back(origin.id);
  }
  std::map<Place, std::vector<const torch::jit::Node*>> nodes;
  for (const torch::jit::Node* node : allNodes(graph)) {
    if (!node->outputs().empty()) nodes[{modulePath(node), node->kind().toQualString()}].push_back(node);
  }
  for (const auto& [place, here] : nodes) {
    const auto there = at_place.find(place);
    if (there == at_place.end() || there->second.size() != here.size()) continue;
    for (std::size_t i = 0; i < here.size(); ++i) of_node_[here[i]] = there->second[i];
  }
}

std::vector<OriginId> PlaceOrigins::of(const torch::jit::Node* node) const {
  const auto one = of_node_.find(node);
  if (one != of_node_.end()) return {one->second};
  const auto all = in_module_.find(modulePath(node));
  return all == in_module_.end() ? std::vector<OriginId>() : all->second;
}

}  // namespace ipex_studio
