// What a recorded graph tells about its nodes: types, neighbours, and what depends on the inputs.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/records.h"

namespace ipex_studio {

// Lives no longer than the graph; functions take nodes of it. Ids of a graph that was read from a database are not
// trusted: what is out of range is left out.
class GraphFacts {
 public:
  explicit GraphFacts(const GraphSnapshot& graph);

  const std::vector<GraphNode>& nodes() const { return graph_.nodes; }
  // The kind without its namespace and without the '_' of operators in place: "relu" of "aten::relu_".
  std::string_view kind(const GraphNode& node) const;
  bool is(const GraphNode& node, std::initializer_list<std::string_view> kinds) const;

  // The node that makes the operand; null: an input of the graph or a constant, or there is no such operand.
  const GraphNode* producer(const GraphNode& node, std::size_t operand) const;
  // The printed constant of the operand; empty: it is none.
  std::string_view constant(const GraphNode& node, std::size_t operand) const;
  // The operand as a name: two operands with the same name are the same value.
  std::int32_t operand(const GraphNode& node, std::size_t operand) const;
  // Nodes that read a result of `node`.
  const std::vector<const GraphNode*>& users(const GraphNode& node) const;

  // "Float", "Double", "Long"; empty: unknown, or not a tensor. Of the operand, and of the first result.
  std::string_view dtype(const GraphNode& node, std::size_t operand) const;
  std::string_view resultDtype(const GraphNode& node) const;
  // The number of elements; -1: unknown.
  std::int64_t elements(const GraphNode& node, std::size_t operand) const;
  std::int64_t resultElements(const GraphNode& node) const;
  bool makesTensor(const GraphNode& node) const { return !resultDtype(node).empty(); }

  // The loop or branch at the top level that the node stands in; null: it stands at the top level itself.
  const GraphNode* enclosing(const GraphNode& node) const;
  // The innermost node of this kind around it; null: none.
  const GraphNode* around(const GraphNode& node, std::string_view kind) const;
  // Number of nodes inside of `node`.
  std::int32_t inside(const GraphNode& node) const;

  // True if values of the result depend on inputs of the model; sizes of inputs do not count.
  bool dependsOnInputs(const GraphNode& node) const;
  // True if another node before it computes the same of the same operands.
  bool isRepeated(const GraphNode& node) const;

 private:
  std::size_t indexOf(const GraphNode& node) const { return static_cast<std::size_t>(&node - graph_.nodes.data()); }
  const GraphValue* value(std::int32_t id) const;
  const GraphValue* operandValue(const GraphNode& node, std::size_t operand) const;
  void findDependent();
  void findRepeated();

  const GraphSnapshot& graph_;
  std::vector<std::vector<const GraphNode*>> users_;  // by node
  std::vector<std::int32_t> inside_;                  // by node
  std::vector<char> depends_, repeated_;              // by node
  std::vector<std::int32_t> name_;                    // by value: the first value that is the same
};

// "Float" of "Float(1, 64)"; empty for what is no tensor.
std::string_view tensorDtype(std::string_view type);
// Product of the sizes of "Float(1, 64)"; -1: they are not known.
std::int64_t tensorElements(std::string_view type);

}  // namespace ipex_studio
