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

// A convolution in a graph, and the operator that takes its place.
struct ConvolutionKind {
  const char* stock;
  const char* own;
  std::size_t axes;
};

constexpr ConvolutionKind kConvolutions[] = {{"aten::conv1d", "ipex_studio::conv1d", 1},
                                             {"aten::conv2d", "ipex_studio::conv2d", 2},
                                             {"aten::conv3d", "ipex_studio::conv3d", 3}};

// The operands of the operator; empty if the node is no such convolution.
std::vector<Value*> convolutionOperands(Node* node, const ConvolutionKind& kind) {
  const auto inputs = node->inputs();
  const auto operands = [&](std::size_t groups) {
    std::vector<Value*> values(inputs.begin(), inputs.begin() + 6);
    values.push_back(inputs[groups]);
    return values;
  };
  if (isKind(node, kind.stock)) {
    const bool padded_by_name = inputs[4]->type()->kind() == c10::TypeKind::StringType;
    return padded_by_name ? std::vector<Value*>{} : operands(6);
  }
  if (isKind(node, "aten::_convolution") && isKnownAs(inputs[6], false) && isListOf(inputs[3], kind.axes))
    return operands(8);
  return {};
}

// The operands of ipex_studio::conv_transpose2d; empty if the node is no transposed convolution of images.
std::vector<Value*> transposedOperands(Node* node) {
  const auto inputs = node->inputs();
  if (isKind(node, "aten::conv_transpose2d")) return inputs.vec();
  if (!isKind(node, "aten::_convolution") || !isKnownAs(inputs[6], true) || !isListOf(inputs[3], 2)) return {};
  return {inputs[0], inputs[1], inputs[2], inputs[3], inputs[4], inputs[7], inputs[8], inputs[5]};
}

Value* constantBefore(Node* node, const torch::jit::IValue& value) {
  const torch::jit::WithInsertPoint before(node);
  return node->owningGraph()->insertConstant(value);
}

constexpr std::size_t kAddend = 8, kRelu = 9;  // operands of ipex_studio::batch_norm2d

// The operands of ipex_studio::batch_norm2d without a sum and ReLU.
std::vector<Value*> normOperands(Node* node) {
  std::vector<Value*> operands(node->inputs().begin(), node->inputs().begin() + kAddend);
  operands.push_back(constantBefore(node, {}));
  operands.push_back(constantBefore(node, false));
  return operands;
}

// The operands of ipex_studio::train_linear; empty if the node is no linear layer.
std::vector<Value*> linearOperands(Node* node) {
  if (!isKind(node, "aten::linear")) return {};
  std::vector<Value*> operands = node->inputs().vec();
  operands.push_back(constantBefore(node, {}));
  return operands;
}

// Puts a node of another kind in the place of `node`. Results keep their names, and their aliases are those of before.
Node* become(Node* node, const char* kind, const std::vector<Value*>& operands) {
  Graph& graph = *node->owningGraph();
  const std::size_t results = node->outputs().size();
  Node* const own = graph.create(c10::Symbol::fromQualString(kind), operands, results)->insertBefore(node);
  own->copyMetadata(node);
  for (std::size_t i = 0; i < results; ++i) own->output(i)->copyMetadata(node->output(i));
  node->replaceAllUsesWith(own);
  node->destroy();
  return own;
}

// The one node of the same block that reads the result of `node`; null if there is none, or others read it, too.
Node* onlyReader(const Node* node) {
  const auto& uses = node->output()->uses();
  return uses.size() == 1 && uses[0].user->owningBlock() == node->owningBlock() ? uses[0].user : nullptr;
}

bool isRelu(const Node* node) { return node != nullptr && (isKind(node, "aten::relu") || isKind(node, "aten::relu_")); }

// The operand that a sum adds to the result of `norm`; null if `node` is no such sum. A result that is added to another
// tensor in place stays a node of its own.
Value* addendOf(Node* node, const Node* norm) {
  const bool in_place = isKind(node, "aten::add_");
  if (!in_place && !isKind(node, "aten::add")) return nullptr;
  if (node->inputs().size() != 3 || node->input(1)->type()->kind() != c10::TypeKind::TensorType) return nullptr;
  const auto factor = torch::jit::toIValue(node->input(2));
  if (!factor || !factor->isInt() || factor->toInt() != 1) return nullptr;
  if (node->input(0) == norm->output()) return node->input(1);
  return in_place ? nullptr : node->input(0);
}

// Lets a normalization compute the ReLU behind it, also behind a sum where `aliases` allow to normalize as late.
void takeRelu(Node* norm, torch::jit::AliasDb* aliases) {
  Node* reader = onlyReader(norm);
  Value* addend = nullptr;
  if (reader != nullptr && !isRelu(reader)) {
    Node* const sum = reader;
    addend = addendOf(sum, norm);
    reader = addend != nullptr && addend != norm->output() ? onlyReader(sum) : nullptr;
    if (!isRelu(reader) || !aliases->moveBeforeTopologicallyValid(norm, sum)) return;
  }
  if (!isRelu(reader)) return;
  if (addend != nullptr) norm->replaceInput(kAddend, addend);
  norm->replaceInput(kRelu, constantBefore(norm, true));
  reader->output()->replaceAllUsesWith(norm->output());
  Node* const sum = reader->input(0)->node();
  reader->destroy();
  if (sum != norm) sum->destroy();
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
  std::vector<Node*> norms;
  for (Node* node : nodes) {
    const bool convolves = std::any_of(std::begin(kConvolutions), std::end(kConvolutions), [&](const auto& kind) {
      return use(node, kind.own, convolutionOperands(node, kind), true);
    });
    if (convolves) continue;
    if (use(node, "ipex_studio::conv_transpose2d", transposedOperands(node), true)) continue;
    if (use(node, "ipex_studio::train_linear", linearOperands(node), false)) continue;
    if (isKind(node, "aten::lstm") || isKind(node, "aten::gru")) {
      const char* const own = isKind(node, "aten::lstm") ? "ipex_studio::train_lstm" : "ipex_studio::train_gru";
      use(node, own, node->inputs().vec(), false);
      continue;
    }
    if (isKind(node, "aten::batch_norm")) {
      layers.changed = true;
      norms.push_back(become(node, "ipex_studio::batch_norm2d", normOperands(node)));
      continue;
    }
    if (isKind(node, "aten::dropout")) {
      use(node, "ipex_studio::dropout", node->inputs().vec(), false);
    } else if (isKind(node, "aten::view")) {
      become(node, "aten::reshape", node->inputs().vec());
    } else if (isKind(node, "aten::view_as")) {
      become(node, "aten::reshape_as", node->inputs().vec());
    }
  }
  if (norms.empty()) return layers;
  torch::jit::AliasDb aliases(sharedView(graph));
  for (Node* norm : norms) takeRelu(norm, &aliases);
  return layers;
}

}  // namespace ipex_studio
