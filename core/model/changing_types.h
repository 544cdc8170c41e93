// Values whose rank or dtype is no fact of the model, although the example shows one: another number of rounds of a
// loop, or the other branch of a condition, may give another.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <unordered_map>

namespace ipex_studio {

class ChangingTypes {
 public:
  struct Change {
    bool rank = false, dtype = false;
    bool any() const { return rank || dtype; }
  };

  void add(const torch::jit::Value* value, Change change);
  // Adds the results of conditions whose branches are known to give different ranks or dtypes.
  void addBranches(torch::jit::Graph& graph);
  // Takes what changes out of the types of the values, and of what is computed from them.
  void forget(torch::jit::Graph& graph);

 private:
  void addBranches(torch::jit::Block* block);
  void forget(torch::jit::Block* block);
  Change changeOf(const torch::jit::Value* value) const;
  Change resultOf(const torch::jit::Node* node, std::size_t output) const;

  std::unordered_map<const torch::jit::Value*, Change> changes_;
};

}  // namespace ipex_studio
