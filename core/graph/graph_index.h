// GraphIndex: the nodes of a graph by kind, and its hash. One walk serves all passes until one of them changes
// something: the nodes of a large graph are scattered in memory, so that each walk waits for each node.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/graph/node_set.h"
#include "core/graph/origins.h"

namespace ipex_studio {

class GraphIndex {
 public:
  explicit GraphIndex(torch::jit::Graph& graph);

  int nodes() const { return static_cast<int>(nodes_.size()); }  // nested blocks included, constants excluded
  std::uint64_t hash() const { return hash_; }                   // see graphHash()
  // Nodes as allNodes() lists them.
  NodeWalk all() const { return NodeWalk(nodes_); }
  // True if there is a node of one of these kinds ("aten::add").
  bool hasAny(const std::vector<const char*>& kinds) const;
  // The nodes of allNodes() whose kind is `wanted`, which is called once per kind. `rewriter`: see NodeWalk. This list
  // and that of nodesBehind() are without the nodes whose strides show (core/graph/strides.h).
  NodeWalk nodesOf(const std::function<bool(c10::Symbol)>& wanted, const Rewriter* rewriter = nullptr) const;
  // Nodes whose kind and number of operands are `wanted`.
  NodeWalk nodesOfForm(const std::function<bool(c10::Symbol, std::size_t)>& wanted,
                       const Rewriter* rewriter = nullptr) const;
  // Nodes of nodesOf() that read nothing but constants and results of such nodes.
  NodeWalk nodesOfConstants(const std::function<bool(c10::Symbol)>& wanted, const Rewriter* rewriter = nullptr) const;
  // Nodes whose kind is `wanted`, given whether all operands but one are constants, and that read the result of a
  // `source`, or of another such node, as first or second operand.
  NodeWalk nodesBehind(const std::function<bool(c10::Symbol)>& source,
                       const std::function<bool(c10::Symbol, bool)>& wanted, const Rewriter* rewriter = nullptr) const;

  // Operands of a node that are no constants, as indices of nodes in order.
  struct Operands {
    static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
    std::array<std::uint32_t, 2> made_by = {kNobody, kNobody};  // of the first two operands; graph inputs have kNobody
    std::uint32_t all = 0, varying = 0;
  };

 private:
  std::vector<torch::jit::Node*> nodes_;
  std::vector<std::uint32_t> kind_of_;  // index into kinds_, for each node
  std::vector<Operands> operands_of_;
  std::vector<std::uint32_t> of_constants_;  // indices into nodes_
  std::vector<c10::Symbol> kinds_;
  NodeSet shown_;  // nodes whose strides show
  std::uint64_t hash_ = 0;
};

// Hash of a graph's computation: names, types and source ranges do not count; constants count by type, sizes and
// content, large ones by samples of it. Equal in every process. Milliseconds for 10,000 nodes.
std::uint64_t graphHash(const torch::jit::Graph& graph);

}  // namespace ipex_studio
