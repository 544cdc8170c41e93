// Creates stock nodes in front of a fused one, for all writers of decompositions. Private to core/export.
#pragma once

#include <string>
#include <vector>

#include "core/graph/fused_op.h"

namespace ipex_studio {

class StockWriter {
 public:
  StockWriter(Rewriter& rewriter, torch::jit::Node* fused) : rewriter_(rewriter), fused_(fused) {}

  torch::jit::Value* call(const char* kind, at::ArrayRef<torch::jit::Value*> inputs) {
    return rewriter_.create(kind, inputs, fused_)->output();
  }
  // Returns the first of several results.
  torch::jit::Value* first(const char* kind, at::ArrayRef<torch::jit::Value*> inputs, std::size_t outputs) {
    return rewriter_.create(kind, inputs, fused_, outputs)->output(0);
  }
  torch::jit::Value* none() { return rewriter_.none(fused_); }
  torch::jit::Value* number(double value) { return rewriter_.constant(value, fused_); }
  torch::jit::Value* integer(std::int64_t value) { return rewriter_.constant(value, fused_); }
  torch::jit::Value* tensor(const at::Tensor& value) { return rewriter_.constant(value, fused_); }
  torch::jit::Value* flag(bool value) { return rewriter_.constant(value, fused_); }
  torch::jit::Value* word(const char* value) { return rewriter_.constant(std::string(value), fused_); }
  torch::jit::Value* integers(const std::vector<std::int64_t>& values) {
    return rewriter_.constant(c10::List<std::int64_t>(values), fused_);
  }
  torch::jit::Value* inType(torch::jit::Value* value, at::ScalarType dtype) {
    return call("aten::to", {value, integer(static_cast<std::int64_t>(dtype)), flag(false), flag(false), none()});
  }
  // Returns value·factor, or the value itself for a factor of 1.
  torch::jit::Value* scaled(torch::jit::Value* value, double factor) {
    return factor == 1 ? value : call("aten::mul", {value, number(factor)});
  }
  torch::jit::Value* plus(torch::jit::Value* a, torch::jit::Value* b, double factor) {
    return call("aten::add", {a, b, alpha(factor)});
  }
  torch::jit::Value* minus(torch::jit::Value* a, torch::jit::Value* b, double factor) {
    return call("aten::sub", {a, b, alpha(factor)});
  }

  // A factor of 1 is written as an integer, as the frontend writes that default.
  torch::jit::Value* alpha(double factor) { return factor == 1 ? integer(1) : number(factor); }

  torch::jit::Value* list(at::ArrayRef<torch::jit::Value*> elements, const c10::TypePtr& type) {
    torch::jit::Node* made = rewriter_.create("prim::ListConstruct", elements, fused_);
    made->output()->setType(type);
    return made->output();
  }

 private:
  Rewriter& rewriter_;
  torch::jit::Node* fused_;
};

// Applies the post-operations of `op` to `v` in stock operators. Throws Error(kBadModel) if one names an operand that
// is not there.
torch::jit::Value* writePostOps(StockWriter& write, const FusedOp& op, torch::jit::Value* v);

// True if PyTorch 1.13 computes all of them in BF16.
bool hasStockBf16(const std::vector<PostOp>& post_ops);

// Rounds `v` as `op` rounds its results; integers stay floats that hold them.
torch::jit::Value* writeRounded(StockWriter& write, const FusedOp& op, torch::jit::Value* v);

}  // namespace ipex_studio
