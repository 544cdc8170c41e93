#include "core/extension/refused_bf16.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/extension/trial.h"
#include "core/graph/origins.h"
#include "core/torch/module_graphs.h"

namespace ipex_studio {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Module;
using torch::jit::Node;
using torch::jit::Value;

namespace {

// libtorch 1.13 computes them as if they were not transposed, which these sizes do not allow.
bool refusesTransposed() {
  static const bool refuses = isRefused([] {
    at::conv_transpose2d(at::ones({1, 2, 1, 1}, at::kBFloat16), at::ones({2, 3, 1, 1}, at::kBFloat16));
  });
  return refuses;
}

bool refusesBags() {
  static const bool refuses = isRefused([] {
    at::embedding_bag(at::ones({1, 1}, at::kBFloat16), at::zeros({1}, at::kLong), at::zeros({1}, at::kLong));
  });
  return refuses;
}

struct FloatOperands {
  std::size_t weights;
  std::vector<std::size_t> all;
};

// Operands that have one dtype; nullopt for other nodes and where this libtorch computes them.
std::optional<FloatOperands> floatOperands(const Node* node) {
  static const std::unordered_map<std::string, std::size_t> kTransposed = {{"aten::conv_transpose1d", 0},
                                                                           {"aten::conv_transpose2d", 0},
                                                                           {"aten::conv_transpose3d", 0},
                                                                           {"aten::convolution", 6},
                                                                           {"aten::_convolution", 6}};
  const std::string kind = node->kind().toQualString();
  if (kind == "aten::embedding_bag" && node->inputs().size() >= 7)
    return refusesBags() ? std::make_optional(FloatOperands{0, {0, 6}}) : std::nullopt;
  const auto found = kTransposed.find(kind);
  if (found == kTransposed.end() || !refusesTransposed()) return std::nullopt;
  const std::size_t flag = found->second;
  if (flag != 0 && !torch::jit::constant_as<bool>(node->input(flag)).value_or(false)) return std::nullopt;
  return FloatOperands{1, {0, 1, 2}};
}

bool isNoneValue(const Value* value) { return value->type()->kind() == c10::TypeKind::NoneType; }

bool isTensorValue(const Value* value) { return value->type()->isSubtypeOf(*c10::TensorType::get()); }

void widen(Node* node, const FloatOperands& operands) {
  Graph& graph = *node->owningGraph();
  {
    const torch::jit::WithInsertPoint point(node);
    for (const std::size_t operand : operands.all) {
      Value* value = node->input(operand);
      if (!isNoneValue(value))
        node->replaceInput(operand, graph.insert(c10::aten::to, {value, static_cast<std::int64_t>(at::kFloat)}));
    }
  }
  const torch::jit::WithInsertPoint point(node->next());
  Value* narrowed = graph.insert(c10::aten::to, {node->output(0), static_cast<std::int64_t>(at::kBFloat16)});
  node->output(0)->replaceAllUsesAfterNodeWith(narrowed->node(), narrowed);
}

Node* appendClone(Block* block, Node* node) {
  Node* clone = block->appendNode(node->owningGraph()->createClone(node, [](Value* value) { return value; }));
  for (Value* output : clone->outputs()) block->registerOutput(output);
  return clone;
}

// Puts a condition on the dtype of the weights in the node's place.
void widenIfBf16(Node* node, const FloatOperands& operands) {
  Graph& graph = *node->owningGraph();
  const torch::jit::WithInsertPoint point(node);
  Value* dtype = graph.insert(c10::prim::dtype, {node->input(operands.weights)});
  Value* is_bf16 = graph.insert(c10::aten::eq, {dtype, static_cast<std::int64_t>(at::kBFloat16)});
  Node* branch = graph.insertNode(graph.create(c10::prim::If, {is_bf16}, node->outputs().size()));
  Node* wide = appendClone(branch->addBlock(), node);
  appendClone(branch->addBlock(), node);
  for (std::size_t o = 0; o < node->outputs().size(); ++o) {
    branch->output(o)->setType(node->output(o)->type());
    node->output(o)->replaceAllUsesWith(branch->output(o));
  }
  node->destroy();
  widen(wide, operands);
}

bool widenNode(Node* node) {
  const auto operands = floatOperands(node);
  if (!operands) return false;
  for (const std::size_t operand : operands->all) {
    if (!isNoneValue(node->input(operand)) && !isTensorValue(node->input(operand))) return false;
  }
  const auto weights = torch::jit::toIValue(node->input(operands->weights));
  if (!weights) {
    widenIfBf16(node, *operands);
    return true;
  }
  if (!weights->isTensor() || weights->toTensor().scalar_type() != at::kBFloat16) return false;
  widen(node, *operands);
  return true;
}

}  // namespace

int widenRefusedBf16(const Module& module) {
  int changed = 0;
  forEachGraph(module, [&](Graph& graph) {
    for (Node* node : allNodes(graph)) changed += widenNode(node) ? 1 : 0;
  });
  return changed;
}

}  // namespace ipex_studio
