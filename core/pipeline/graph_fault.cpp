#include "core/pipeline/graph_fault.h"

#include <fmt/format.h>

#include <cstddef>
#include <vector>

namespace ipex_studio {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

class GraphCheck {
 public:
  std::string run(const Graph& graph) {
    graph_ = &graph;
    checkBlock(*graph.block());
    for (const Value* value : values_) {
      if (!fault_.empty()) break;
      const std::size_t counted = entry(value).reads;
      if (counted != value->uses().size()) {
        fault_ = fmt::format("%{} is read {} times and knows of {}", value->debugName(), counted, value->uses().size());
      }
    }
    return fault_;
  }

 private:
  // A value, by Value::unique().
  struct Entry {
    const Value* in_scope = nullptr;
    std::size_t reads = 0;
  };

  Entry& entry(const Value* value) {
    const std::size_t place = value->unique();
    if (place >= entries_.size()) entries_.resize(place + 1 + place / 2);
    return entries_[place];
  }

  // Blocks nest only as deep as the source does, so recursion ends.
  void checkBlock(const Block& block) {
    const std::size_t outer = values_.size();
    define(*block.param_node());
    for (const Node* node : block.nodes()) {
      if (node->owningBlock() != &block || node->owningGraph() != graph_) {
        fail(fmt::format("{} stands in a block that it does not know", node->kind().toQualString()));
      }
      read(*node);
      for (const Block* inner : node->blocks()) {
        if (inner->owningNode() != node) fail(fmt::format("{} has another's block", node->kind().toQualString()));
        if (fault_.empty()) checkBlock(*inner);
      }
      if (!fault_.empty()) return;
      define(*node);
    }
    read(*block.return_node());
    for (std::size_t at = outer; at < values_.size(); ++at) entry(values_[at]).in_scope = nullptr;
  }

  void define(const Node& node) {
    for (std::size_t o = 0; o < node.outputs().size(); ++o) {
      const Value* value = node.outputs()[o];
      if (value->node() != &node || value->offset() != o) {
        fail(fmt::format("{} has a result of another node", node.kind().toQualString()));
      }
      entry(value).in_scope = value;
      values_.push_back(value);
    }
  }

  void read(const Node& node) {
    for (const Value* input : node.inputs()) {
      Entry& known = entry(input);
      ++known.reads;
      if (known.in_scope == input) continue;
      const bool result = node.kind() == c10::prim::Return;
      fail(fmt::format("{} reads %{}, which is not computed before it",
                       result ? "the end of a block" : node.kind().toQualString(), input->debugName()));
    }
  }

  void fail(std::string fault) {
    if (fault_.empty()) fault_ = std::move(fault);
  }

  const Graph* graph_ = nullptr;
  std::vector<Entry> entries_;
  std::vector<const Value*> values_;  // in order of definition
  std::string fault_;
};

}  // namespace

std::string graphFault(const Graph& graph) { return GraphCheck().run(graph); }

}  // namespace ipex_studio
