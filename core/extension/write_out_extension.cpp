#include "core/extension/write_out_extension.h"

#include <fmt/format.h>
#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/passes/constant_propagation.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/lower_tuples.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/extension/extension_operators.h"
#include "core/file/operator_table.h"
#include "core/graph/origins.h"
#include "core/torch/module_graphs.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::IValue;
using torch::jit::Module;
using torch::jit::Node;
using torch::jit::Value;

namespace {

bool isOfExtension(c10::Symbol name) { return isExtensionNamespace(name.ns().toUnqualString()); }

// A layer's state as values before the insertion point, so that each may be folded on its own.
Value* insertState(Graph& graph, const PackedLayer& layer, const IValue& object) {
  std::vector<Value*> parts;
  const IValue state = packedState(layer, object);
  for (const IValue& part : state.toTupleRef().elements()) parts.push_back(graph.insertConstant(part));
  Node* tuple = graph.insertNode(graph.createTuple(parts));
  tuple->output()->setType(packedStateType(layer));
  return tuple->output();
}

void writeOutConstant(Node* constant) {
  const PackedLayer* layer = packedLayerOf(constant->output()->type());
  if (layer == nullptr) return;
  const torch::jit::WithInsertPoint point(constant);
  constant->output()->replaceAllUsesWith(
      insertState(*constant->owningGraph(), *layer, *torch::jit::toIValue(constant->output())));
  constant->destroy();
}

void takeStateTypes(at::ArrayRef<Value*> values) {
  for (Value* value : values) {
    if (const PackedLayer* layer = packedLayerOf(value->type())) value->setType(packedStateType(*layer));
  }
}

// True for a layer, and for the state that stands for it already.
bool isLayer(const Value* value, const PackedLayer& layer) {
  return packedLayerOf(value->type()) == &layer || *value->type() == *packedStateType(layer);
}

bool isAnyLayer(const Value* value) {
  const auto& layers = packedLayers();
  return std::any_of(layers.begin(), layers.end(), [&](const PackedLayer& layer) { return isLayer(value, layer); });
}

// In the place of a layer's address stands the layer.
bool writeOutAddress(Node* node) {
  const bool asks = node->kind() == c10::prim::CallMethod && node->s(c10::attr::name) == "get_data_handle";
  if (!asks || !isAnyLayer(node->input(0))) return false;
  node->output()->replaceAllUsesWith(node->input(0));
  node->destroy();
  return true;
}

void requireLayers(const Node* node, const ExtensionOperator& of) {
  for (const auto& [place, layer] : of.layers) {
    if (isLayer(node->input(place), *layer)) continue;
    throw Error(ExitCode::kBadModel,
                fmt::format("{} gets the address of its weights in a process that is gone, and the weights are not in "
                            "the file; save the model again with torch.jit.save.",
                            of.name));
  }
}

void refuseLayers(const Node* node) {
  for (const Value* input : node->inputs()) {
    if (!isAnyLayer(input)) continue;
    throw Error(ExitCode::kBadModel, fmt::format("{} of Intel Extension for PyTorch takes a packed layer and cannot be "
                                                 "written in operators of PyTorch here; save the model without "
                                                 "ipex.optimize.",
                                                 node->kind().toQualString()));
  }
}

// Returns false for an operator that is none of ours to write out: a library of the user defines it.
bool writeOutOperator(Node* node) {
  const c10::FunctionSchema* schema = node->maybeSchema();
  const auto body = schema == nullptr ? nullptr : writtenOut(*schema);
  if (body == nullptr) {
    refuseLayers(node);
    return false;
  }
  requireLayers(node, *extensionOperator(*schema));
  const torch::jit::WithInsertPoint point(node);
  Graph& graph = *node->owningGraph();
  std::vector<Value*> results = torch::jit::insertGraph(graph, *body, node->inputs());
  if (node->outputs().size() > 1) results = graph.insertNode(graph.createTupleUnpack(results.at(0)))->outputs().vec();
  for (std::size_t i = 0; i < results.size(); ++i) node->output(i)->replaceAllUsesWith(results[i]);
  node->destroy();
  return true;
}

// Lengths of a layer's lists decide what it is. libtorch folds none, since lists may be written to; these are not.
void foldLengths(const std::shared_ptr<Graph>& graph) {
  const torch::jit::AliasDb aliases(graph);
  for (Node* node : allNodes(*graph)) {
    if (node->kind() != c10::aten::len) continue;
    const auto list = torch::jit::toIValue(node->input(0));
    if (!list || !list->isIntList() || aliases.hasWriters(node->input(0))) continue;
    const torch::jit::WithInsertPoint point(node);
    node->output()->replaceAllUsesWith(graph->insertConstant(static_cast<std::int64_t>(list->toIntVector().size())));
    node->destroy();
  }
}

int writeOut(Graph& graph) {
  int operators = 0;
  bool any = false;
  for (Node* node : allNodes(graph, /*with_constants=*/true)) {
    if (node->kind() == c10::prim::Constant) {
      any = any || packedLayerOf(node->output()->type()) != nullptr;
      writeOutConstant(node);
    } else if (!writeOutAddress(node)) {
      any = any || isOfExtension(node->kind());
    }
  }
  for (Node* node : allNodes(graph)) {
    if (isOfExtension(node->kind())) operators += writeOutOperator(node);
  }
  for (Node* node : allNodes(graph)) {
    takeStateTypes(node->outputs());
    for (torch::jit::Block* block : node->blocks()) takeStateTypes(block->inputs());
  }
  if (!any) return 0;
  std::shared_ptr<Graph> view = sharedView(graph);
  torch::jit::LowerSimpleTuples(view);
  foldLengths(view);
  torch::jit::ConstantPropagationImmutableTypes(view);
  torch::jit::EliminateDeadCode(view);
  return operators;
}

void writeOutAttributes(const Module& module) {
  for (const Module& part : module.modules()) {
    const auto object = part._ivalue();
    for (std::size_t slot = 0; slot < object->type()->numAttributes(); ++slot) {
      const IValue value = object->getSlot(slot);
      const PackedLayer* layer = value.isObject() ? packedLayerOf(value.type()) : nullptr;
      if (layer == nullptr) continue;
      object->type()->unsafeChangeAttributeType(object->type()->getAttributeName(slot), packedStateType(*layer));
      object->setSlot(slot, packedState(*layer, value));
    }
  }
}

}  // namespace

int writeOutExtension(const Module& module) {
  const torch::NoGradGuard no_grad;
  int operators = 0;
  forEachGraph(module, [&](Graph& graph) { operators += writeOut(graph); });
  writeOutAttributes(module);
  return operators;
}

std::vector<std::string> unknownToUs(const std::vector<std::string>& operators) {
  std::vector<std::string> unknown;
  for (const std::string& name : operators) {
    const c10::Symbol symbol = c10::Symbol::fromQualString(name);
    if (isOfExtension(symbol) && torch::jit::getAllOperatorsFor(symbol).empty()) unknown.push_back(name);
  }
  return unknown;
}

}  // namespace ipex_studio
