// A fork's code runs where the fork stands, which is one of the orders in which it may run.
#include "core/graph/inline_forks.h"

#include <torch/csrc/jit/passes/inliner.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/graph/origins.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

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

std::shared_ptr<Graph> bodyOf(const Node* fork) {
  auto body = fork->g(c10::attr::Subgraph)->copy();
  torch::jit::Inline(*body);
  return body;
}

// Computes in the place of the fork what its body does.
Value* bodyBefore(Node* fork, Graph& body) {
  const torch::jit::WithInsertPoint point(fork);
  return torch::jit::insertGraph(*fork->owningGraph(), body, fork->inputs()).at(0);
}

// Returns whether the fork was written out.
bool inlineFork(Node* fork) {
  if (!onlyWaitedFor(fork)) return false;
  const auto body = bodyOf(fork);
  if (actsOnOthers(*body)) return false;
  Value* result = bodyBefore(fork, *body);
  while (fork->output()->hasUses()) {
    Node* wait = fork->output()->uses()[0].user;
    wait->output()->replaceAllUsesWith(result);
    wait->destroy();
  }
  fork->destroy();
  return true;
}

// The type of what a future holds, and of containers of futures with what these hold.
c10::TypePtr awaited(const c10::TypePtr& type) {
  if (const auto future = type->cast<c10::FutureType>()) return awaited(future->getElementType());
  const auto contained = type->containedTypes();
  if (contained.empty() || type->cast<c10::ClassType>()) return type;
  std::vector<c10::TypePtr> inner;
  for (const c10::TypePtr& of : contained) inner.push_back(awaited(of));
  return std::equal(inner.begin(), inner.end(), contained.begin()) ? type : type->withContained(std::move(inner));
}

bool holdsFuture(const Value* value) { return awaited(value->type()) != value->type(); }

// True for nodes that keep, hand on or wait for futures, and do the same with what these hold.
bool takesEither(const Node* node) {
  static const std::unordered_set<std::string> kKinds = {
      "prim::fork",           "aten::wait",           "prim::ListConstruct", "prim::ListUnpack",
      "prim::TupleConstruct", "prim::TupleIndex",     "prim::Loop",          "prim::If",
      "prim::TupleUnpack",    "aten::append",         "aten::len",           "aten::slice",
      "aten::__getitem__",    "aten::list",           "aten::add",           "aten::pop",
      "aten::insert",         "prim::unchecked_cast", "prim::Return"};
  return kKinds.count(node->kind().toQualString()) != 0;
}

// Writes out all forks where futures are kept in lists or tuples, handed through loops and branches, and waited for.
// Returns whether it did: all or none of them.
bool inlineKeptForks(Graph& graph) {
  std::vector<Node*> forks, waits;
  std::vector<Value*> kept;
  const auto mayChange = [&](Node* node, at::ArrayRef<Value*> values) {
    const bool any = std::any_of(values.begin(), values.end(), holdsFuture);
    return !any || takesEither(node);
  };
  if (std::any_of(graph.outputs().begin(), graph.outputs().end(), holdsFuture)) return false;
  if (std::any_of(graph.inputs().begin(), graph.inputs().end(), holdsFuture)) return false;
  for (Node* node : allNodes(graph)) {
    if (!mayChange(node, node->inputs()) || !mayChange(node, node->outputs())) return false;
    if (node->kind() == c10::prim::fork) forks.push_back(node);
    if (node->kind() == c10::aten::wait) waits.push_back(node);
    const auto keep = [&](at::ArrayRef<Value*> values) {
      std::copy_if(values.begin(), values.end(), std::back_inserter(kept), holdsFuture);
    };
    keep(node->outputs());
    for (torch::jit::Block* block : node->blocks()) keep(block->inputs());
  }
  std::vector<std::shared_ptr<Graph>> bodies;
  std::transform(forks.begin(), forks.end(), std::back_inserter(bodies), bodyOf);
  if (forks.empty() || std::any_of(bodies.begin(), bodies.end(), [](const auto& body) { return actsOnOthers(*body); }))
    return false;
  for (Value* value : kept) value->setType(awaited(value->type()));
  for (std::size_t f = 0; f < forks.size(); ++f) {
    forks[f]->output()->replaceAllUsesWith(bodyBefore(forks[f], *bodies[f]));
    forks[f]->destroy();
  }
  for (Node* wait : waits) {
    wait->output()->replaceAllUsesWith(wait->input());
    wait->destroy();
  }
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
    changed = changed || inlineKeptForks(graph);
  }
}

}  // namespace ipex_studio
