#include "core/train/training_layers.h"

#include <algorithm>
#include <cstring>

#include "core/graph/differentiated.h"
#include "core/graph/fresh_values.h"
#include "core/graph/node_facts.h"
#include "core/graph/origins.h"
#include "core/graph/write_order.h"

namespace ipex_studio {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

template <std::size_t kCount>
bool isAnyKind(const Node* node, const char* const (&kinds)[kCount]) {
  return std::any_of(std::begin(kinds), std::end(kinds), [&](const char* kind) { return isKind(node, kind); });
}

// True if the order of memory shows in what the node gives, or nobody knows.
bool seesOrder(const Node* node) {
  static constexpr const char* kAsks[] = {"aten::stride",  "aten::is_contiguous", "aten::storage_offset",
                                          "aten::set_",    "aten::as_strided",    "aten::as_strided_",
                                          "aten::resize_", "aten::resize_as_",    "aten::_unsafe_view"};
  static constexpr const char* kCalls[] = {"prim::CallMethod", "prim::CallFunction", "prim::fork", "prim::rpc_async"};
  if (isAnyKind(node, kAsks) || isAnyKind(node, kCalls)) return true;
  if (isKind(node, "aten::view") && node->input(1)->type()->kind() != c10::TypeKind::ListType) return true;
  const std::string space = node->kind().ns().toUnqualString();
  return space != "aten" && space != "prim" && space != "torchvision" && space != "ipex_studio";
}

// Changes of form whose result is the memory of their operand for some orders of memory, and a copy for others.
bool mayCopy(const Node* node) {
  static constexpr const char* kKinds[] = {"aten::view",    "aten::view_as",    "aten::reshape", "aten::reshape_as",
                                           "aten::flatten", "aten::contiguous", "aten::ravel"};
  return isAnyKind(node, kKinds);
}

// True if a write behind the node is seen through the node's operand and its result, so that a copy would show.
bool isWrittenThrough(const Node* node, const MemoryWrites& writes, const torch::jit::AliasDb& aliases) {
  const Value* const operand = node->input(0);
  const bool only_name = operand->uses().size() == 1 && isFresh(operand);
  return !only_name && (mayBeWrittenAfter(operand, node, writes, aliases) ||
                        mayBeWrittenAfter(node->output(), node, writes, aliases));
}

// True if a list has this many elements for sure.
bool isListOf(const Value* list, std::size_t count) {
  if (list->node()->kind() == c10::prim::ListConstruct) return list->node()->inputs().size() == count;
  const auto value = torch::jit::toIValue(list);
  return value && value->isIntList() && value->toIntVector().size() == count;
}

bool isKnownAs(const Value* value, bool truth) {
  const auto known = torch::jit::toIValue(value);
  return known && known->isBool() && known->toBool() == truth;
}

// The operands of ipex_studio::conv2d; empty if the node is no convolution of images.
std::vector<Value*> convolutionOperands(Node* node) {
  const auto inputs = node->inputs();
  const auto operands = [&](std::size_t groups) {
    std::vector<Value*> values(inputs.begin(), inputs.begin() + 6);
    values.push_back(inputs[groups]);
    return values;
  };
  if (isKind(node, "aten::conv2d")) {
    const bool padded_by_name = inputs[4]->type()->kind() == c10::TypeKind::StringType;
    return padded_by_name ? std::vector<Value*>{} : operands(6);
  }
  if (isKind(node, "aten::_convolution") && isKnownAs(inputs[6], false) && isListOf(inputs[3], 2)) return operands(8);
  return {};
}

// The operands of ipex_studio::conv_transpose2d; empty if the node is no transposed convolution of images.
std::vector<Value*> transposedOperands(Node* node) {
  const auto inputs = node->inputs();
  if (isKind(node, "aten::conv_transpose2d")) return inputs.vec();
  if (!isKind(node, "aten::_convolution") || !isKnownAs(inputs[6], true) || !isListOf(inputs[3], 2)) return {};
  return {inputs[0], inputs[1], inputs[2], inputs[3], inputs[4], inputs[7], inputs[8], inputs[5]};
}

// The operands of ipex_studio::batch_norm2d; empty if the node is no batch normalization.
std::vector<Value*> normOperands(Node* node) {
  if (!isKind(node, "aten::batch_norm")) return {};
  return {node->inputs().begin(), node->inputs().begin() + 8};
}

// Puts a node of another kind in the place of `node`. Results keep their names, and their aliases are those of before.
void become(Node* node, const char* kind, const std::vector<Value*>& operands) {
  Graph& graph = *node->owningGraph();
  Node* const own = graph.create(c10::Symbol::fromQualString(kind), operands)->insertBefore(node);
  own->copyMetadata(node);
  own->output()->copyMetadata(node->output());
  node->output()->replaceAllUsesWith(own->output());
  node->destroy();
}

bool mayChange(Graph& graph, const NodeWalk& nodes) {
  if (asksForGradients(graph)) return false;
  const torch::jit::AliasDb aliases(sharedView(graph));
  const MemoryWrites writes = memoryWrites(graph, aliases);
  for (const Node* node : nodes) {
    if (seesOrder(node) || (mayCopy(node) && isWrittenThrough(node, writes, aliases))) return false;
  }
  return true;
}

}  // namespace

TrainingLayers useTrainingLayers(Graph& graph) {
  TrainingLayers layers;
  const NodeWalk nodes = allNodes(graph);
  if (!mayChange(graph, nodes)) return layers;
  const auto use = [&layers](Node* node, const char* kind, const std::vector<Value*>& operands, bool weighted) {
    if (operands.empty()) return false;
    layers.changed = true;
    if (weighted) layers.weights.push_back(operands[1]);
    become(node, kind, operands);
    return true;
  };
  for (Node* node : nodes) {
    if (use(node, "ipex_studio::conv2d", convolutionOperands(node), true)) continue;
    if (use(node, "ipex_studio::conv_transpose2d", transposedOperands(node), true)) continue;
    if (use(node, "ipex_studio::batch_norm2d", normOperands(node), false)) continue;
    if (isKind(node, "aten::dropout")) {
      use(node, "ipex_studio::dropout", node->inputs().vec(), false);
    } else if (isKind(node, "aten::view")) {
      become(node, "aten::reshape", node->inputs().vec());
    } else if (isKind(node, "aten::view_as")) {
      become(node, "aten::reshape_as", node->inputs().vec());
    }
  }
  return layers;
}

}  // namespace ipex_studio
