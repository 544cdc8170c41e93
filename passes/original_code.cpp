#include "passes/original_code.h"

#include <fmt/format.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/shape_analysis.h>

#include <unordered_map>
#include <unordered_set>

#include "core/export/decompose.h"
#include "core/graph/fused_op.h"
#include "core/graph/value_uses.h"

namespace ipex_studio {
namespace {

using torch::jit::Graph;
using torch::jit::IValue;
using torch::jit::Node;
using torch::jit::Value;

constexpr std::size_t kMaxNewBytes = std::size_t{64} << 10;

// Bytes of the tensor constants whose memory none of `shared` has.
std::size_t newBytes(Graph& graph, std::unordered_set<const void*> shared) {
  std::size_t bytes = 0;
  for (Node* node : allNodes(graph, true)) {
    if (node->kind() != c10::prim::Constant) continue;
    const auto tensor = constantTensor(node->output());
    if (tensor && tensor->has_storage() && shared.insert(tensor->storage().unsafeGetStorageImpl()).second)
      bytes += tensor->nbytes();
  }
  return bytes;
}

std::unordered_set<const void*> storagesOf(Graph& graph) {
  std::unordered_set<const void*> storages;
  for (Node* node : allNodes(graph, true)) {
    if (node->kind() != c10::prim::Constant) continue;
    const auto tensor = constantTensor(node->output());
    if (tensor && tensor->has_storage()) storages.insert(tensor->storage().unsafeGetStorageImpl());
  }
  return storages;
}

std::shared_ptr<Graph> writtenOut(const std::shared_ptr<Graph>& graph) {
  std::shared_ptr<Graph> stock = graph->copy();
  OriginTable nobody;
  Rewriter rewriter(*stock, nobody, -1);
  decomposeFusedOps(*stock, rewriter);
  torch::jit::EliminateDeadCode(stock);
  return newBytes(*stock, storagesOf(*graph)) <= kMaxNewBytes ? stock : graph;
}

// Replaces constants that text cannot hold: tensors by inputs, lists by their elements, floats by their digits.
class ConstantWriter {
 public:
  ConstantWriter(Graph& graph, const std::vector<const void*>& sources) : graph_(graph) {
    for (const void* source : sources) inputs_[source] = graph.addInput();
  }

  // False if one of them has no such form.
  bool run() {
    for (Node* node : allNodes(graph_, true)) {
      if (node->kind() != c10::prim::Constant) continue;
      const auto constant = torch::jit::toIValue(node->output());
      if (!constant) return false;
      torch::jit::WithInsertPoint here(node);
      Value* written = write(*constant);
      if (written == nullptr) return false;
      replaceUses(node->output(), written);
      node->destroy();
    }
    return true;
  }

  const std::vector<at::Tensor>& tensors() const { return tensors_; }

 private:
  Value* write(const IValue& constant) {
    if (constant.isTensor()) return constant.toTensor().defined() ? input(constant.toTensor()) : nullptr;
    if (constant.isDouble()) {
      Value* digits = graph_.insertConstant(fmt::format("{:.17g}", constant.toDouble()));
      Node* parsed = graph_.insertNode(graph_.create(c10::Symbol::fromQualString("aten::Float"), {digits}));
      return parsed->output()->setType(c10::FloatType::get());
    }
    if (constant.isList()) {
      const c10::List<IValue> list = constant.toList();
      std::vector<Value*> elements;
      for (std::size_t e = 0; e < list.size(); ++e) {
        elements.push_back(write(list.get(e)));
        if (elements.back() == nullptr) return nullptr;
      }
      return graph_.insertNode(graph_.createList(list.elementType(), elements))->output();
    }
    const bool plain =
        constant.isNone() || constant.isInt() || constant.isBool() || constant.isString() || constant.isDevice();
    return plain ? graph_.insertConstant(constant) : nullptr;
  }

  Value* input(const at::Tensor& tensor) {
    const auto [known, fresh] = inputs_.try_emplace(tensor.unsafeGetTensorImpl(), nullptr);
    if (fresh) {
      known->second = graph_.addInput();
      tensors_.push_back(tensor);
    }
    return known->second;
  }

  Graph& graph_;
  std::unordered_map<const void*, Value*> inputs_;
  std::vector<at::Tensor> tensors_;
};

}  // namespace

std::optional<OriginalCodeText> writeOriginalCode(const RegionCode& code) {
  if (!code.graph) return std::nullopt;
  std::shared_ptr<Graph> graph = writtenOut(code.graph);
  ConstantWriter constants(*graph, code.constant_sources);
  if (!constants.run()) return std::nullopt;
  for (Node* node : allNodes(*graph, true)) {
    for (Value* output : node->outputs()) output->setDebugName("");  // the reader knows fewer names than there are
  }
  torch::jit::EraseShapeInformation(graph);
  return OriginalCodeText{graph->toString(false), constants.tensors()};
}

}  // namespace ipex_studio
