// Which nodes of a block can share a region. Private to regions.cpp.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/lowering.h"
#include "core/graph/torch_compat.h"
#include "core/plan/records.h"

namespace ipex_studio {

struct PlacedNode {
  torch::jit::Node* node = nullptr;
  int level = 0;
  bool lowered = false;        // goes into the region of its level
  bool transparent = false;    // only carries operands or sizes; regions read through it
  int inside_level = 0;        // size arithmetic: level from which a region can compute it itself
  LoweredNode ops;             // when lowered
};

// Levels: an interpreter node has the highest level of its producers; a lowered node too, but one more behind an
// interpreter node. So the region of level k depends on regions < k and interpreter nodes < k only, and ordering by
// (level, lowered first) is a valid schedule. Nodes with side effects are barriers.
class RegionLevels {
 public:
  // Of the nodes of `block`, which is the graph's own or nested in it.
  RegionLevels(torch::jit::Graph& graph, torch::jit::Block& block);

  const std::vector<PlacedNode>& nodes() const { return nodes_; }       // in graph order, constants excluded
  const std::vector<std::pair<torch::jit::Node*, LoweringDecline>>& declines() const { return declines_; }

 private:
  int inside(const torch::jit::Value* value) const;    // level from which a region can read it
  int outside(const torch::jit::Value* value) const;   // level after which the interpreter can read it
  void place(torch::jit::Node* node);
  int firstReader(const torch::jit::Value* value, int own_level) const;
  void sink();

  torch::jit::AliasDb aliases_;
  std::vector<PlacedNode> nodes_;
  std::vector<std::pair<torch::jit::Node*, LoweringDecline>> declines_;
  std::unordered_map<const torch::jit::Node*, std::size_t> index_;
  int barrier_ = 0;            // lowest level lowered nodes may have after the last side effect
  int highest_ = 0;            // highest level given so far
  int last_effect_ = 0;        // level of the last node with side effects
};

}  // namespace ipex_studio
