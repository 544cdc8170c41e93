// Results that jump while the values behind them change a little: values rounded to whole numbers or compared with a
// bound, and places of greatest values. Near a jump FP32 cannot tell on which side a value lies, so there, and nowhere
// else, either result is right.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// A model that returns the values before its jumps, too. Jumps are found behind what forward returns, alone or in the
// tuples, lists and dictionaries that it builds, through operators that move elements or keep their order of size.
class DiscreteResults {
 public:
  explicit DiscreteResults(const torch::jit::Module& original);
  bool empty() const { return jumps_.empty(); }
  // Returns tuples: the original's result, then values. The weights are those of the original.
  const torch::jit::Module& module() const { return module_; }
  // Forgets the jumps that do not lead from the values in `returned`, a result of module(), to the result in it,
  // because something wrote to a value in between.
  void check(const torch::jit::IValue& returned);

  // True if a jump leads to a tensor of the result, so that judge() can tell.
  bool leadsTo(std::size_t output) const { return jumpOf(output) != nullptr; }
  // True if a tensor of the result comes from values by rounding or comparing.
  bool rounds(std::size_t output) const;

  struct Verdict {
    at::Tensor right;        // booleans, one per element: equal, or on the other side of a near jump
    double tolerance = 0;    // how far values may be off
    bool places = false;     // the result is places of values, so equal values are the jumps
    at::Tensor actual, own;  // FP64: the results, or the values at these places
  };
  // Compares tensor `output` of a result with the model's `own`, which has the same sizes. `returned` and `exact` (may
  // be null): what module() gave in FP32 and in FP64. `low_cosine`: the least cosine below FP32, 0 in FP32. nullopt if
  // no jump leads to that output.
  std::optional<Verdict> judge(std::size_t output, const at::Tensor& actual, const at::Tensor& own,
                               const torch::jit::IValue& returned, const torch::jit::IValue* exact,
                               double low_cosine) const;

 private:
  struct Jump {
    std::size_t output = 0;                // place among the tensors of the result
    std::size_t value = 0;                 // place in module()'s results; computed operands of the nodes come behind it
    torch::jit::Node* finder = nullptr;    // argmax, sort …; null: the chain begins with a rounding or a comparison
    std::size_t places = 0;                // which result of the finder
    std::vector<torch::jit::Node*> chain;  // from the value, or from the places, to the result
  };
  class Finder;

  const Jump* jumpOf(std::size_t output) const;

  Verdict judgeRounded(const Jump& jump, const at::Tensor& actual, const at::Tensor& own,
                       const torch::jit::IValue& returned, const at::Tensor& value, double tolerance) const;
  Verdict judgePlaces(const Jump& jump, const at::Tensor& actual, const at::Tensor& own,
                      const torch::jit::IValue& returned, const at::Tensor& value, double tolerance) const;

  torch::jit::Module module_;
  std::vector<Jump> jumps_;
};

}  // namespace ipex_studio
