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
  std::unordered_set<const c10::ClassType*> types;
  std::function<void(Graph&)> walk;
  const auto walkClass = [&](const c10::TypePtr& type) {
    const auto of = type->cast<c10::ClassType>();
    if (of == nullptr || !types.insert(of.get()).second) return;
    for (torch::jit::Function* method : of->methods()) {
      if (auto* own = torch::jit::tryToGraphFunction(*method)) walk(*own->graph());
    }
  };
  walk = [&](Graph& graph) {
    if (!seen.insert(&graph).second) return;
    visit(graph);
    std::shared_ptr<Graph> view = sharedView(graph);
    torch::jit::DepthFirstGraphNodeIterator nodes(view);
    while (Node* node = nodes.next()) {
      if (node->hasAttribute(c10::attr::Subgraph)) walk(*node->g(c10::attr::Subgraph));
      if (node->kind() == c10::prim::CallMethod) walkClass(node->input(0)->type());
      if (node->kind() != c10::prim::CallFunction) continue;
      torch::jit::Function* called = node->input(0)->type()->expectRef<c10::FunctionType>().function();
      if (auto* own = torch::jit::tryToGraphFunction(*called)) walk(*own->graph());
    }
  };
  for (const Module& part : module.modules()) walkClass(part.type());
}

}  // namespace ipex_studio
