// Reachability forwards from the inputs of a gradient and backwards from its outputs.
#include "core/graph/differentiated.h"

#include <torch/csrc/jit/api/function_impl.h>

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "core/graph/node_facts.h"
#include "core/graph/origins.h"

namespace ipex_studio {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

namespace {

bool isGradient(const Node* node) { return isKind(node, "aten::grad") || isKind(node, "aten::backward"); }

// Values that a node reads: its operands and, for branches and loops, what their blocks return and read.
void appendRead(const Node* node, std::vector<const Value*>* values) {
  values->insert(values->end(), node->inputs().begin(), node->inputs().end());
  for (const Block* block : node->blocks()) {
    values->insert(values->end(), block->outputs().begin(), block->outputs().end());
    for (const Node* inner : block->nodes()) appendRead(inner, values);
  }
}

// Nodes that make `values`, directly or not; nodes outside of a block count with the node that holds the block.
std::unordered_set<const Node*> makersOf(std::vector<const Value*> open) {
  std::unordered_set<const Node*> makers;
  while (!open.empty()) {
    const Node* node = open.back()->node();
    open.pop_back();
    for (; node != nullptr; node = node->owningBlock() == nullptr ? nullptr : node->owningBlock()->owningNode()) {
      if (node->kind() != c10::prim::Param && makers.insert(node).second) appendRead(node, &open);
    }
  }
  return makers;
}

// Nodes that read `values`, directly or not, and those in which they are nested.
std::unordered_set<const Node*> readersOf(std::vector<const Value*> open) {
  std::unordered_set<const Node*> readers;
  while (!open.empty()) {
    const Value* value = open.back();
    open.pop_back();
    for (const torch::jit::Use& use : value->uses()) {
      const bool leaves = use.user->kind() == c10::prim::Return;
      const Node* node = leaves ? use.user->owningBlock()->owningNode() : use.user;
      for (; node != nullptr; node = node->owningBlock()->owningNode()) {
        if (!readers.insert(node).second) break;
        open.insert(open.end(), node->outputs().begin(), node->outputs().end());
        for (const Block* block : node->blocks())
          open.insert(open.end(), block->inputs().begin(), block->inputs().end());
      }
    }
  }
  return readers;
}

// The elements of a list that is written out; otherwise the list.
std::vector<const Value*> elementsOrSelf(const Value* list) {
  if (list->node()->kind() != c10::prim::ListConstruct) return {list};
  return {list->node()->inputs().begin(), list->node()->inputs().end()};
}

bool asks(const Graph& graph, std::unordered_set<const Graph*>* seen) {
  if (!seen->insert(&graph).second) return false;
  for (const Node* node : allNodes(const_cast<Graph&>(graph))) {  // it only reads
    if (isGradient(node)) return true;
    torch::jit::Function* called = nullptr;
    if (node->kind() == c10::prim::CallFunction) {
      called = node->input(0)->type()->expectRef<c10::FunctionType>().function();
    } else if (node->kind() == c10::prim::CallMethod) {
      const auto type = node->input(0)->type()->cast<c10::ClassType>();
      called = type == nullptr ? nullptr : type->findMethod(node->s(c10::attr::name));
    }
    auto* own = called == nullptr ? nullptr : torch::jit::tryToGraphFunction(*called);
    if (own != nullptr && asks(*own->graph(), seen)) return true;
  }
  return false;
}

}  // namespace

bool asksForGradients(const Graph& graph) {
  std::unordered_set<const Graph*> seen;
  return asks(graph, &seen);
}

NodeSet differentiatedNodes(Graph& graph) {
  NodeSet found;
  const NodeWalk nodes = allNodes(graph);
  for (const Node* gradient : nodes) {
    if (!isGradient(gradient)) continue;
    const auto makers = makersOf(elementsOrSelf(gradient->input(0)));
    const bool by_all = !isKind(gradient, "aten::grad");
    const auto readers = by_all ? std::unordered_set<const Node*>() : readersOf(elementsOrSelf(gradient->input(1)));
    for (const Node* node : makers) {
      if (by_all || readers.count(node) != 0) found.insert(node);
    }
  }
  return found;
}

}  // namespace ipex_studio
