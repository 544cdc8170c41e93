// Walks over methods, the functions that they call, and forks.
#include "core/torch/module_graphs.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/runtime/graph_iterator.h>

#include <unordered_set>

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Module;
using torch::jit::Node;

void forEachGraph(const Module& module, const std::function<void(Graph&)>& visit) {
  std::unordered_set<const Graph*> seen;
  std::function<void(Graph&)> walk = [&](Graph& graph) {
    if (!seen.insert(&graph).second) return;
    visit(graph);
    std::shared_ptr<Graph> view = sharedView(graph);
    torch::jit::DepthFirstGraphNodeIterator nodes(view);
    while (Node* node = nodes.next()) {
      if (node->hasAttribute(c10::attr::Subgraph)) walk(*node->g(c10::attr::Subgraph));
      if (node->kind() != c10::prim::CallFunction) continue;
      torch::jit::Function* called = node->input(0)->type()->expectRef<c10::FunctionType>().function();
      if (auto* own = torch::jit::tryToGraphFunction(*called)) walk(*own->graph());
    }
  };
  std::unordered_set<const c10::ClassType*> types;
  for (const Module& part : module.modules()) {
    if (!types.insert(part.type().get()).second) continue;
    for (torch::jit::Function* method : part.type()->methods()) {
      if (auto* own = torch::jit::tryToGraphFunction(*method)) walk(*own->graph());
    }
  }
}

}  // namespace ipex_studio
