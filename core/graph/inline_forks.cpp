// A fork's code runs where the fork stands, which is one of the orders in which it may run.
#include "core/graph/inline_forks.h"

#include <torch/csrc/jit/passes/inliner.h>

#include <algorithm>

#include "core/graph/origins.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;

namespace {

bool onlyWaitedFor(const Node* fork) {
  const auto& uses = fork->output()->uses();
  return !uses.empty() &&
         std::all_of(uses.begin(), uses.end(), [](const auto& use) { return use.user->kind() == c10::aten::wait; });
}

bool actsOnOthers(Graph& graph) {
  for (const Node* node : allNodes(graph)) {
    const bool parallel = node->kind() == c10::prim::fork || node->kind() == c10::aten::wait;
    if (node->blocks().empty() && !parallel && node->hasSideEffects()) return true;
  }
  return false;
}

// Returns whether the fork was written out.
bool inlineFork(Node* fork) {
  if (!onlyWaitedFor(fork)) return false;
  const auto body = fork->g(c10::attr::Subgraph)->copy();
  torch::jit::Inline(*body);
  if (actsOnOthers(*body)) return false;
  const torch::jit::WithInsertPoint point(fork);
  torch::jit::Value* result = torch::jit::insertGraph(*fork->owningGraph(), *body, fork->inputs()).at(0);
  while (fork->output()->hasUses()) {
    Node* wait = fork->output()->uses()[0].user;
    wait->output()->replaceAllUsesWith(result);
    wait->destroy();
  }
  fork->destroy();
  return true;
}

}  // namespace

void inlineForks(Graph& graph) {
  for (bool changed = true; changed;) {  // forks may hold forks
    changed = false;
    for (Node* node : allNodes(graph)) {
      if (node->kind() != c10::prim::fork) continue;
      changed = inlineFork(node);
      if (changed) break;
    }
  }
}

}  // namespace ipex_studio
