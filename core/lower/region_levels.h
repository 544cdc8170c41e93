// Decides which nodes of a block can share a region. Private to regions.cpp.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "core/graph/node_set.h"
#include "core/lower/lowering.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

struct PlacedNode {
  torch::jit::Node* node = nullptr;
  int level = 0;
  bool lowered = false;      // goes into the region of its level
  bool computes = false;     // lowered to more than views
  bool effects = false;      // see NodeEffects
  bool pinned = false;       // see NodeEffects
  bool transparent = false;  // only carries operands or sizes; regions read through it
  bool sizes = false;        // size arithmetic
  int inside_level = 0;      // size arithmetic: level from which a region can compute it itself
  LoweredNode ops;           // when lowered
};

// True for lists that only carry operands or sizes of a lowered node: they are read through, never lowered themselves.
bool carriesOperands(const torch::jit::Node* node);

// Sets of nodes that may not move freely.
struct NodeEffects {
  // Nodes with side effects other than checks, nodes that write to memory, and those in which they are nested: nothing
  // moves across them.
  NodeSet barriers;
  // Nodes whose results name memory that is written to later, or that a caller may look into: a region would make a
  // copy. They stay with the interpreter.
  NodeSet kept;
  // Nodes that read memory which is written to later: they may not run later themselves.
  NodeSet pinned;
};
NodeEffects effectsOf(torch::jit::Graph& graph);

// Assigns levels. An interpreter node has the highest level of its producers; so has a lowered node, but one more
// behind an interpreter node. The region of level k then depends on regions < k and interpreter nodes < k only, and
// ordering by (level, lowered first) is a valid schedule. Nodes with side effects are barriers; checks are none, but
// keep their order among each other and with side effects. Nodes that draw random numbers keep their order among
// themselves, so that equal seeds give equal numbers.
class RegionLevels {
 public:
  // Computes the levels of the nodes of `block`. `effects` and `strided` (core/graph/strides.h), whose nodes stay with
  // the interpreter, may have been found before regions were built in blocks nested in it; so do nodes for which
  // `left_out` is true, which may be empty. A level whose nodes compute fewer than `min_ops` operations has no region:
  // its nodes go into later regions, if nothing else reads them, or stay with the interpreter. No region has a level
  // below `first`.
  RegionLevels(torch::jit::Block& block, const NodeEffects& effects, const NodeSet& strided,
               const std::function<bool(const torch::jit::Node*)>& left_out, int min_ops, int first = 0);

  const std::vector<PlacedNode>& nodes() const { return nodes_; }  // in graph order, constants excluded
  // The place of a node in nodes(); none for constants, nodes of other blocks and nodes without outputs.
  std::optional<std::size_t> placeOf(const torch::jit::Node* node) const;
  const std::vector<std::pair<torch::jit::Node*, LoweringDecline>>& declines() const { return declines_; }

 private:
  const PlacedNode* producerOf(const torch::jit::Value* value) const;
  int inside(const torch::jit::Value* value) const;   // level from which a region can read it
  int outside(const torch::jit::Value* value) const;  // level after which the interpreter can read it
  int captured(const torch::jit::Node* node) const;
  void add(torch::jit::Node* node, const NodeEffects& effects, bool strided, bool left_out);
  void assign();
  void placeLowered(PlacedNode* placed) const;
  void placeOutside(PlacedNode* placed);
  int firstReader(const torch::jit::Node* node, const std::vector<int>& readers) const;
  bool readsShared(const PlacedNode& placed) const;
  void sink();
  bool emptySmallLevels(int min_ops, bool may_leave_out);

  const int first_;
  NodeSet differentiated_;
  std::vector<PlacedNode> nodes_;
  std::vector<std::pair<torch::jit::Node*, LoweringDecline>> declines_;
  // Place of the producer in nodes_, counted from 1, by Value::unique(); 0 and behind the end: none.
  std::vector<std::size_t> places_;
  int barrier_ = 0;      // lowest level lowered nodes may have after the last side effect
  int last_draw_ = 0;    // level of the last node that draws random numbers
  int highest_ = 0;      // highest level given so far
  int last_effect_ = 0;  // level of the last node with side effects
  int last_check_ = 0;   // level of the last check
};

}  // namespace ipex_studio
