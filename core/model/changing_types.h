// Values whose rank or dtype is no fact of the model, although the example shows one: another number of rounds of a
// loop, or the other branch of a condition, may give another. Conditions on dtypes, ranks and what is given, which are
// facts themselves, always take the branch that the example took.
#pragma once

#include <optional>
#include <unordered_map>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

class ChangingTypes {
 public:
  struct Change {
    bool rank = false, dtype = false;
    bool any() const { return rank || dtype; }
  };

  void add(const torch::jit::Value* value, Change change);
  // Takes what changes out of the types of the values, and of what is computed from them: what was added, and results
  // of conditions whose branches are known to give different ranks or dtypes.
  void forget(torch::jit::Graph& graph);

 private:
  void follow(const torch::jit::Block* block);
  void addBranches(const torch::jit::Node* condition);
  void decide(const torch::jit::Node* node);
  std::optional<torch::jit::IValue> compute(const torch::jit::Node* node) const;
  std::optional<torch::jit::IValue> answerOf(const torch::jit::Value* value) const;
  std::optional<bool> takenSide(const torch::jit::Node* condition) const;
  const torch::jit::Value* originOf(const torch::jit::Value* value) const;
  void forget(torch::jit::Block* block);
  Change changeOf(const torch::jit::Value* value) const;
  Change resultOf(const torch::jit::Node* node, std::size_t output) const;

  std::unordered_map<const torch::jit::Value*, Change> changes_;
  // Numbers, truth values and the like that follow from facts.
  std::unordered_map<const torch::jit::Value*, torch::jit::IValue> answers_;
  // Results of conditions that follow from facts, and what they are.
  std::unordered_map<const torch::jit::Value*, const torch::jit::Value*> origins_;
};

}  // namespace ipex_studio
