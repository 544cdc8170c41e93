// Lets a whole graph compute in other floats: constants, and the dtypes that operators are given.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "core/graph/rewriter.h"

namespace ipex_studio {

// Inputs of the graph in the old type are cast, and results are cast back, so that callers see no difference.
class FloatChange {
 public:
  FloatChange(torch::jit::Graph& graph, Rewriter& rewriter, at::ScalarType from, at::ScalarType to)
      : graph_(graph), rewriter_(rewriter), from_(from), to_(to) {}

  // Nodes with operands or results of the old type, without the casts at the graph's borders that a change leaves.
  std::vector<torch::jit::Node*> concerned() const;
  // One rewrite: a part of it would mix the two types. The caller has asked for its permission.
  void run();

 private:
  bool isOld(const torch::jit::Value* value) const;
  bool isConcerned(const torch::jit::Node* node) const;
  bool isBorderCast(const torch::jit::Node* node) const;
  void addResults(torch::jit::Node* node, std::vector<std::pair<torch::jit::Node*, std::size_t>>* results) const;
  void setNew(torch::jit::Value* value) const;
  torch::jit::Value* cast(torch::jit::Value* value, at::ScalarType dtype, torch::jit::Node* before);
  void castResults();
  void castInputs();
  void change(torch::jit::Node* node);
  torch::jit::Value* changed(torch::jit::Value* value, const at::Tensor& tensor);

  torch::jit::Graph& graph_;
  Rewriter& rewriter_;
  const at::ScalarType from_, to_;
  std::unordered_map<torch::jit::Value*, torch::jit::Value*> constants_;
  std::vector<torch::jit::Node*> kept_;  // casts of results back
};

// True if the operand says the dtype of the operator's result.
bool isDtypeOperand(const torch::jit::Node* node, std::size_t operand);

}  // namespace ipex_studio
