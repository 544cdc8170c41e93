// Results that optimized models are compared with: the model's own, and those of its FP64 copy. Throws Error(kUsage) if
// inputs do not fit, Error(kFailure) if a model fails while running.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/model/model.h"
#include "core/record/options.h"

namespace ipex_studio {

class DiscreteResults;  // core/verify/discrete_results.h

// All tensors and numbers of a result, in order; numbers as tensors of no dimension.
std::vector<at::Tensor> tensorsOf(const torch::jit::IValue& result);

// Calls of a module in sequence.
struct SequenceRun {
  std::vector<torch::jit::IValue> results;  // one per step
  std::vector<at::Tensor> generator;        // what random numbers come next, after each step (random_numbers.h)
  bool draws = false;                       // a step drew random numbers
};
// Runs `module` on copies of `steps` after calling `reset` (may be empty). The random numbers of each step depend
// on its number and `seed` alone; the generator gets its own state back.
SequenceRun runSequence(torch::jit::Module& module, const std::vector<Inputs>& steps, const std::string& reset,
                        std::uint64_t seed = 1);

// The random numbers that a model draws, and what they do to its results.
struct RandomDraws {
  std::vector<at::Tensor> generator;  // SequenceRun::generator of the reference
  bool matter = false;                // results depend on the numbers
  double spread = 0;                  // largest difference between results that come from different numbers
  bool repeatable = true;             // equal numbers give equal results
};

// The model's own results where its weights and inputs differ in their last bits. A result that jumps then, as the
// boxes that a detector selects among equal scores, is one of several right ones. Thread-safe.
class RoundedOtherwise {
 public:
  RoundedOtherwise(torch::jit::Module original, std::vector<Inputs> steps, std::string reset)
      : original_(std::move(original)), steps_(std::move(steps)), reset_(std::move(reset)) {}

  // The results of several runs, one per step in each; they are computed when first asked for. Empty if a run fails.
  const std::vector<std::vector<torch::jit::IValue>>& runs();

 private:
  torch::jit::Module original_;
  std::vector<Inputs> steps_;
  std::string reset_;
  std::once_flag computed_;
  std::vector<std::vector<torch::jit::IValue>> runs_;
};

// Results to compare with. They depend on no candidate, so they may be computed ahead.
struct ReferenceResults {
  std::vector<torch::jit::IValue> own;  // the model's own, one per step
  // Of the model's FP64 copy, where that is possible: not if the model rounds values to integers itself, nor if its
  // results depend on random numbers, which FP64 draws otherwise.
  std::optional<std::vector<torch::jit::IValue>> fp64;
  // What the model itself computes in: INT8 if it rounds values to integers; BF16 or FP16 if it holds or makes such
  // values and its results are further off than FP32's.
  Precision precision = Precision::kFp32;
  RandomDraws random;
  // What the module of `discrete` returned at each step, in FP32 and, where there is such a reference, in FP64. Null
  // and empty if no result jumps.
  std::shared_ptr<const DiscreteResults> discrete;
  std::vector<torch::jit::IValue> values;
  std::optional<std::vector<torch::jit::IValue>> exact_values;
  // Null where the model draws random numbers or computes below FP32.
  std::shared_ptr<RoundedOtherwise> rounded;
};
// A copy of the module that computes in FP64; nullopt if there can be none. Nodes keep their order.
std::optional<torch::jit::Module> doubleCopy(const torch::jit::Module& original);
// The value with its floats in FP64.
torch::jit::IValue toDouble(const torch::jit::IValue& value);

// Runs copies of `original` on the steps, after calling `reset` (may be empty) on each.
ReferenceResults referenceResults(const torch::jit::Module& original, const std::vector<Inputs>& steps,
                                  const std::string& reset);

}  // namespace ipex_studio
