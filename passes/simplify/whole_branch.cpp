// When a graph is two forms of the same thing.
#include "passes/simplify/whole_branch.h"

#include <algorithm>

#include "core/graph/node_facts.h"

namespace ipex_studio {

using torch::jit::Node;

bool isWholeBranch(const torch::jit::Graph& graph) {
  const auto outputs = graph.outputs();
  return !outputs.empty() && isKind(outputs[0]->node(), "prim::If") &&
         outputs[0]->node()->outputs().size() == outputs.size() &&
         std::none_of(graph.nodes().begin(), graph.nodes().end(),
                      [&](const Node* node) { return !node->blocks().empty() && node != outputs[0]->node(); }) &&
         std::equal(outputs.begin(), outputs.end(), outputs[0]->node()->outputs().begin());
}

}  // namespace ipex_studio
