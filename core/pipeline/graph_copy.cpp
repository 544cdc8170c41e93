#include "core/pipeline/graph_copy.h"

#include <vector>

#include "core/base/error.h"
#include "core/graph/value_uses.h"

namespace ipex_studio {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

void collectResults(Block* block, std::vector<const Value*>& values) {
  values.insert(values.end(), block->inputs().begin(), block->inputs().end());
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) collectResults(inner, values);
    values.insert(values.end(), node->outputs().begin(), node->outputs().end());
  }
}

// Gives the values of `to` the origins that those of `from`, an equal graph, have.
void copyOrigins(Graph& from, const OriginTable& known, Graph& to, OriginTable& origins) {
  std::vector<const Value*> sources, targets;
  collectResults(from.block(), sources);
  collectResults(to.block(), targets);
  IPEX_CHECK(sources.size() == targets.size(), "a copy has the values of its original");
  for (std::size_t v = 0; v < sources.size(); ++v) {
    const at::ArrayRef<OriginId> ids = known.of(sources[v]);
    if (!ids.empty()) origins.set(targets[v], ids.vec());
  }
}

// In a broken graph nodes may read what comes behind them, so the order of destruction alone is not enough.
void forgetReads(Block* block, ValueUses& uses) {
  for (Node* node : block->nodes()) {
    uses.removeInputs(node);
    for (Block* inner : node->blocks()) forgetReads(inner, uses);
  }
  uses.removeInputs(block->return_node());
}

}  // namespace

GraphCopy::GraphCopy(Graph& graph, const OriginTable& origins) : copy_(graph.copy()), before_(origins) {
  copyOrigins(graph, origins, *copy_, of_copy_);
}

void GraphCopy::restore(Graph& graph, OriginTable& origins) const {
  ValueUses uses;
  forgetReads(graph.block(), uses);
  graph.block()->clear();
  graph.block()->cloneFrom(
      copy_->block(), [](Value*) -> Value* { IPEX_CHECK(false, "the outermost block reads only its own values"); });
  origins = before_;
  copyOrigins(*copy_, of_copy_, graph, origins);
}

}  // namespace ipex_studio
