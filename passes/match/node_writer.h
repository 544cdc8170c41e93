// Makes the nodes that one rewrite puts in the place of another node, each with its type, as if it had been seen in the
// example run. Private to passes/.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/fused_op.h"
#include "core/graph/rewriter.h"

namespace ipex_studio {

class NodeWriter {
 public:
  using Value = torch::jit::Value;
  using Ints = std::vector<std::int64_t>;

  // Nodes come before `node` and have the dtype of its first operand, or the given one.
  NodeWriter(Rewriter& rewriter, torch::jit::Node* node) : NodeWriter(rewriter, node, knownDtype(node->input(0))) {}
  NodeWriter(Rewriter& rewriter, torch::jit::Node* node, std::optional<at::ScalarType> dtype)
      : rewriter_(rewriter), node_(node), dtype_(dtype) {}

  torch::jit::Node* node() const { return node_; }
  Value* number(std::int64_t value) { return rewriter_.constant(value, node_); }
  Value* real(double value) { return rewriter_.constant(value, node_); }
  Value* ints(const Ints& list) { return rewriter_.constant(list, node_); }
  Value* no() { return rewriter_.constant(false, node_); }
  Value* none() { return rewriter_.none(node_); }

  Value* make(const char* kind, const std::vector<Value*>& inputs, const Ints& sizes) {
    return typed(rewriter_.create(kind, inputs, node_), sizes);
  }
  Value* typed(torch::jit::Node* made, const Ints& sizes) const {
    made->output()->setType(c10::TensorType::createContiguous(dtype_.value(), at::kCPU, sizes));
    return made->output();
  }
  Value* integer(const char* kind, const std::vector<Value*>& inputs) {
    torch::jit::Node* made = rewriter_.create(kind, inputs, node_);
    made->output()->setType(c10::IntType::get());
    return made->output();
  }
  Value* tensors(const char* kind, const std::vector<Value*>& inputs) {
    torch::jit::Node* made = rewriter_.create(kind, inputs, node_);
    made->output()->setType(c10::ListType::ofTensors());
    return made->output();
  }
  Value* size(Value* x, std::size_t axis) {
    return integer("aten::size", {x, number(static_cast<std::int64_t>(axis))});
  }
  Value* list(const std::vector<Value*>& entries) {
    torch::jit::Node* made = rewriter_.create("prim::ListConstruct", entries, node_);
    made->output()->setType(c10::ListType::ofInts());
    return made->output();
  }
  Value* sizesOf(Value* x, std::size_t rank) {
    std::vector<Value*> entries;
    for (std::size_t axis = 0; axis < rank; ++axis) entries.push_back(size(x, axis));
    return list(entries);
  }
  // The dimensions `first` and the next as one.
  Value* flatten(Value* x, std::size_t first) {
    Ints sizes = *knownSizes(x);
    sizes[first] *= sizes[first + 1];
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(first) + 1);
    return make("aten::flatten",
                {x, number(static_cast<std::int64_t>(first)), number(static_cast<std::int64_t>(first) + 1)}, sizes);
  }
  Value* permute(Value* x, const Ints& order) {
    const Ints from = *knownSizes(x);
    Ints sizes;
    for (const std::int64_t axis : order) sizes.push_back(from[static_cast<std::size_t>(axis)]);
    return make("aten::permute", {x, ints(order)}, sizes);
  }

 private:
  Rewriter& rewriter_;
  torch::jit::Node* node_;
  std::optional<at::ScalarType> dtype_;
};

}  // namespace ipex_studio
