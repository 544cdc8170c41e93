// libipex_studio_auto: whole methods that a program of libtorch runs get plans, without a call of ours.
//
// libtorch optimizes the graph of a method when it runs for the second time, and lets others do so first. A method that
// is all in its graph, as those of frozen modules are, becomes a single node, which runs by a plan where that gives the
// same results.
#include <torch/csrc/jit/passes/pass_manager.h>
#include <torch/csrc/jit/passes/shape_analysis.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include "studio/automatic/whole_method.h"

namespace ipex_studio {
namespace {

using torch::jit::Graph;
using torch::jit::Node;

c10::Symbol kind() { return c10::Symbol::fromQualString("ipex_studio::whole_method"); }

bool hasOnlyPlainNodes(torch::jit::Block* block) {
  for (Node* node : block->nodes()) {
    const bool plain = node->kind().is_aten() || node->kind().is_prim();
    if (!plain || node->kind() == c10::prim::GetAttr || node->kind() == c10::prim::SetAttr ||
        node->kind() == c10::prim::CallMethod || node->kind() == c10::prim::DifferentiableGraph) {
      return false;
    }
    for (torch::jit::Block* inner : node->blocks()) {
      if (!hasOnlyPlainNodes(inner)) return false;
    }
  }
  return true;
}

// True for a method of a module that reads nothing of it, only tensors.
bool isWhole(const Graph& graph) {
  const auto inputs = graph.inputs();
  if (inputs.size() < 2 || !inputs[0]->type()->is_module() || inputs[0]->hasUses()) return false;
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i]->type()->kind() != c10::TypeKind::TensorType) return false;
  }
  return hasOnlyPlainNodes(const_cast<Graph&>(graph).block());
}

// The notes of libtorch's first run on what values are stand between operators.
void dropProfiles(torch::jit::Block* block) {
  for (auto at = block->nodes().begin(); at != block->nodes().end();) {
    Node* node = *at++;
    for (torch::jit::Block* inner : node->blocks()) dropProfiles(inner);
    if (node->kind() != c10::prim::profile && node->kind() != c10::prim::profile_ivalue) continue;
    if (!node->outputs().empty()) node->output()->replaceAllUsesWith(node->input());
    node->destroy();
  }
}

void joinWholeMethod(std::shared_ptr<Graph>& graph) {
  if (WholeMethod::isRunning() || !isWhole(*graph)) return;
  const std::shared_ptr<Graph> whole = graph->copy();
  dropProfiles(whole->block());
  torch::jit::EraseShapeInformation(whole);
  Node* joined = graph->create(kind(), graph->inputs(), graph->outputs().size());
  joined->g_(torch::jit::attr::Subgraph, whole);
  graph->appendNode(joined);
  for (std::size_t o = 0; o < graph->outputs().size(); ++o) {
    joined->output(o)->setType(whole->outputs()[o]->type());
    graph->block()->replaceOutput(o, joined->output(o));
  }
  while (*graph->nodes().begin() != joined) joined->prev()->destroy();
}

torch::jit::Operation operationOf(const Node* node) {
  const auto method = std::make_shared<WholeMethod>(node->g(torch::jit::attr::Subgraph));
  return [method](torch::jit::Stack& stack) { method->run(stack); };
}

const torch::jit::RegisterOperators registered({torch::jit::Operator(kind(), operationOf,
                                                                     c10::AliasAnalysisKind::CONSERVATIVE)});
const auto pass = torch::jit::registerPrePass(joinWholeMethod);

}  // namespace
}  // namespace ipex_studio
