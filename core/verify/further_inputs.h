// Inputs beside the example's on which an optimized model is compared with the original. A fact of the example – a
// size, a number of rounds, the way taken at a branch – that a rewrite took for a fact of the model shows only on
// others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/model.h"

namespace ipex_studio {

struct FurtherInputs {
  std::string text;  // how they differ from the example: "x of 2x3x8x8", "n = 1"
  Inputs inputs;
};

struct FurtherInputsSearch {
  std::vector<FurtherInputs> found;  // the model takes each of them; those that take new ways come first
  std::int32_t ways = 0;             // blocks of branches and loops in the graph
  std::int32_t ways_taken = 0;       // blocks entered on the example or on one of `found`
  std::int64_t run_ns = 0;           // average time of one try
};

struct FurtherInputsOptions {
  std::size_t most = 12;           // inputs
  double search_s = 3;             // time of the search, but for the first few tries
  std::int64_t most_elements = 0;  // of all tensors of one call; 0: 4 times the example's
};

// Tries other values, sizes, numbers and lists in the place of those of `example`: values in another order; axes of
// equal sizes longer and shorter together, then alone; integers above and below; booleans the other way; lists longer
// and shorter; and, where blocks of the graph were not entered yet, sizes and numbers around the integers that the
// graph compares with. Those that the model takes are kept. The search is deterministic but for its time limit. Leaves
// `original` as it is. Throws c10::Error if the model cannot be frozen.
FurtherInputsSearch findFurtherInputs(const torch::jit::Module& original, const Inputs& example,
                                      const FurtherInputsOptions& options = {});

}  // namespace ipex_studio
