// Walks back from the operators that read strides to where their operands get them.
#include "core/graph/strides.h"

#include <unordered_set>

#include "core/graph/fused_op.h"
#include "core/graph/origins.h"

namespace ipex_studio {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

namespace {

bool holdsTensors(const Value* value) {
  return value->type()->isSubtypeOf(*c10::TensorType::get()) || value->type()->kind() == c10::TypeKind::ListType ||
         value->type()->kind() == c10::TypeKind::TupleType;
}

class StrideSearch {
 public:
  NodeSet run(const std::vector<Node*>& readers) {
    for (const Node* reader : readers) {
      if (!reader->inputs().empty()) visit(reader->input(0));
    }
    while (!open_.empty()) {
      const Value* value = open_.back();
      open_.pop_back();
      follow(value);
    }
    return std::move(found_);
  }

 private:
  void visit(const Value* value) {
    if (holdsTensors(value) && seen_.insert(value).second) open_.push_back(value);
  }

  void follow(const Value* value) {
    const Node* node = value->node();
    if (node->kind() == c10::prim::Param) return followCarried(value);
    if (node->kind() == c10::prim::If) {
      for (const Block* block : node->blocks()) visit(block->outputs()[value->offset()]);
    } else if (node->kind() == c10::prim::Loop) {
      visit(node->blocks()[0]->outputs()[value->offset() + 1]);
      visit(node->input(value->offset() + 2));
    } else if (node->kind() != c10::prim::Constant && !makesRowMajor(node)) {
      found_.insert(node);
      for (const Value* input : node->inputs()) visit(input);
    }
  }

  // A value that a loop hands from round to round.
  void followCarried(const Value* value) {
    const Node* loop = value->node()->owningBlock()->owningNode();
    if (loop == nullptr || loop->kind() != c10::prim::Loop || value->offset() == 0) return;
    visit(loop->input(value->offset() + 1));
    visit(loop->blocks()[0]->outputs()[value->offset()]);
  }

  std::vector<const Value*> open_;
  std::unordered_set<const Value*> seen_;
  NodeSet found_;
};

}  // namespace

bool readsStrides(c10::Symbol kind) {
  static const std::unordered_set<c10::Symbol> kKinds = [] {
    std::unordered_set<c10::Symbol> kinds;
    for (const char* reader :
         {"aten::as_strided", "aten::as_strided_", "aten::as_strided_copy", "aten::as_strided_scatter", "aten::stride",
          "aten::storage_offset", "aten::is_contiguous", "aten::is_non_overlapping_and_dense", "aten::_reshape_alias",
          "aten::set_", "aten::data_ptr"})
      kinds.insert(c10::Symbol::fromQualString(reader));
    return kinds;
  }();
  return kKinds.count(kind) != 0;
}

bool makesRowMajor(const Node* node) {
  static const std::unordered_set<c10::Symbol> kKinds = [] {
    std::unordered_set<c10::Symbol> kinds;
    for (const char* kind : {"aten::linear", "aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm", "aten::embedding",
                             "aten::layer_norm", "aten::zeros", "aten::ones", "aten::full", "aten::new_zeros",
                             "aten::new_ones", "aten::new_full", "aten::arange", "aten::masked_fill",
                             "ipex_studio::linear", "ipex_studio::layer_norm", "ipex_studio::embedding"})
      kinds.insert(c10::Symbol::fromQualString(kind));
    return kinds;
  }();
  if (kKinds.count(node->kind()) != 0) return true;
  return node->kind() == c10::aten::contiguous &&
         constantInt(node->input(1)) == static_cast<std::int64_t>(at::MemoryFormat::Contiguous);
}

NodeSet nodesWithShownStrides(const std::vector<Node*>& readers) { return StrideSearch().run(readers); }

NodeSet nodesWithShownStrides(torch::jit::Graph& graph) {
  std::vector<Node*> readers;
  for (Node* node : allNodes(graph, true)) {
    if (readsStrides(node->kind())) readers.push_back(node);
  }
  return nodesWithShownStrides(readers);
}

}  // namespace ipex_studio
