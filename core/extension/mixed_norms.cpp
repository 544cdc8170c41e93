#include "core/extension/mixed_norms.h"

#include "core/extension/trial.h"
#include "core/graph/origins.h"
#include "core/torch/module_graphs.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::IValue;
using torch::jit::Module;
using torch::jit::Node;
using torch::jit::Value;

namespace {

bool isBf16(const IValue& value) {
  return value.isTensor() && value.toTensor().defined() && value.toTensor().scalar_type() == at::kBFloat16;
}

bool holdsBf16(const Module& module) {
  for (const Module& part : module.modules()) {
    const auto object = part._ivalue();
    for (std::size_t slot = 0; slot < object->type()->numAttributes(); ++slot) {
      if (isBf16(object->getSlot(slot))) return true;
    }
  }
  bool any = false;
  forEachGraph(module, [&](Graph& graph) {
    for (const Node* node : allNodes(graph, /*with_constants=*/true)) {
      if (any || node->kind() != c10::prim::Constant) continue;
      const auto value = torch::jit::toIValue(node->output());
      any = value && isBf16(*value);
    }
  });
  return any;
}

// The weights of a norm that may be in another dtype than its input; null where there are none.
Value* weightsOf(const Node* node) {
  static const auto layer_norm = c10::Symbol::fromQualString("aten::layer_norm");
  static const auto group_norm = c10::Symbol::fromQualString("aten::group_norm");
  if ((node->kind() != layer_norm && node->kind() != group_norm) || node->inputs().size() < 3) return nullptr;
  Value* weights = node->input(2);  // after the input, and its last axes or the number of groups
  if (const auto constant = torch::jit::toIValue(weights)) {
    if (!constant->isTensor() || isBf16(*constant)) return nullptr;
  }
  return weights->type()->isSubtypeOf(*c10::TensorType::get()) ? weights : nullptr;
}

void widen(Node* node, Value* weights) {
  Graph& graph = *node->owningGraph();
  Value* input = node->input(0);
  {
    const torch::jit::WithInsertPoint point(node);
    node->replaceInput(0, graph.insert(c10::aten::to, {input, weights}));
  }
  const torch::jit::WithInsertPoint point(node->next());
  Value* narrowed = graph.insert(c10::aten::to, {node->output(), input});
  node->output()->replaceAllUsesAfterNodeWith(narrowed->node(), narrowed);
}

bool refusesMixedNorms() {
  static const bool refuses = isRefused([] {
    at::layer_norm(at::ones({1, 1}, at::kBFloat16), {1}, at::ones({1}), at::zeros({1}));
  });
  return refuses;
}

}  // namespace

int widenMixedNorms(const Module& module) {
  if (!refusesMixedNorms() || !holdsBf16(module)) return 0;
  int changed = 0;
  forEachGraph(module, [&](Graph& graph) {
    for (Node* node : allNodes(graph)) {
      Value* weights = weightsOf(node);
      if (weights == nullptr) continue;
      widen(node, weights);
      ++changed;
    }
  });
  return changed;
}

}  // namespace ipex_studio
