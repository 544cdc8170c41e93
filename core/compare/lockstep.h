// Lockstep: two graphs run node by node side by side on the same inputs, so that values can be compared as soon as both
// sides have them and none has to be kept longer.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/compare/value_difference.h"
#include "core/model/model.h"

namespace ipex_studio {

// Values at the top level of two graphs that should be equal.
struct ValuePair {
  torch::jit::Value* original = nullptr;
  torch::jit::Value* other = nullptr;
  at::Tensor divisor;  // that a pass applied to the other one on purpose (OriginTable::divisors()); undefined: none
};

struct LockstepResult {
  std::vector<std::optional<ValueDifference>> differences;  // per pair; nullopt: not computed, or not to be compared
  AccuracyRecord results;                                   // the worst result; passes if the results are right
  torch::jit::Node* failed = nullptr;                       // the node of the other graph that failed; null: none
  std::string failure;                                      // what it said
};

// Runs copies of the inputs through the graphs of forward of both modules. Random numbers are equal on both sides.
// Holds the values that NodeRunner holds, and of the original those whose counterpart comes later. Both modules keep
// their state. Throws what running the original throws.
class Lockstep {
 public:
  Lockstep(const torch::jit::Module& original, const torch::jit::Module& other, Inputs inputs,
           ValueTolerance tolerance);

  // `replaced`: a pair whose value in the other graph becomes the original's, as soon as it is computed.
  LockstepResult run(const std::vector<ValuePair>& pairs, std::optional<std::size_t> replaced = std::nullopt) const;

  // The value of the original at one place. `value` is at the top level. `given`: tensors that take the place of what
  // the original computes for these values, where sizes and kind of element fit.
  torch::jit::IValue originalValue(const torch::jit::Value* value,
                                   const std::unordered_map<const torch::jit::Value*, at::Tensor>& given = {}) const;

  const ValueTolerance& tolerance() const { return tolerance_; }
  void setTolerance(const ValueTolerance& tolerance) { tolerance_ = tolerance; }
  torch::jit::Graph& originalGraph() const { return *original_.get_method("forward").graph(); }
  torch::jit::Graph& otherGraph() const { return *other_.get_method("forward").graph(); }
  const torch::jit::Module& original() const { return original_; }
  const torch::jit::Module& other() const { return other_; }
  const Inputs& inputs() const { return inputs_; }

 private:
  torch::jit::Module original_, other_;
  Inputs inputs_;
  ValueTolerance tolerance_;
};

}  // namespace ipex_studio
