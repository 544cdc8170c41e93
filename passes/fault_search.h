// The search for what makes the results of an optimized model wrong: one rewrite, one pass, or one planned operation.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/verify/verify.h"
#include "passes/optimize.h"

namespace ipex_studio {

struct Fault {
  // For OptimizeOptions::disabled_passes: "fuse-activation#12+13", "lower-to-plan#7", "fold-size".
  std::string leave_out;
  std::string text;  // what it does wrong, as a sentence
};

// A model whose results are wrong, and how it was made.
struct WrongModel {
  torch::jit::Module original;
  AccuracyRule rule;
  std::string reset_method;
  std::vector<Inputs> steps;  // calls in sequence on which its results are wrong
  OptimizeOptions options;    // that it was optimized with
  // Makes the model again with other options; tells the observer what optimizeModel() tells.
  std::function<OptimizedModel(const OptimizeOptions& options, Observer& observer)> make;
};

// Makes the model with fewer and fewer rewrites, then with fewer and fewer planned operations, until one of them makes
// the difference; the answer is confirmed: without it alone results are right. nullopt if leaving out one thing does
// not help. Makes and runs about 2 · log2(rewrites) models; `tried` (may be empty) is called with their number so far.
// `suspects`: nodes of the original behind the first wrong node, if that is known; what touched them is tried first.
// Throws what making a model throws.
std::optional<Fault> findFault(const WrongModel& wrong, const std::function<void(int)>& tried = {},
                               const std::vector<OriginId>& suspects = {});

}  // namespace ipex_studio
