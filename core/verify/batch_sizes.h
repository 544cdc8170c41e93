// Which batch sizes a model takes: those at which it gives each sample what it gives that sample alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/model.h"

namespace ipex_studio {

struct BatchSize {
  std::int64_t size = 1;
  std::vector<InputSpec> specs;  // of inputs of this size
  std::string problem;           // why the model does not take it, as a clause; empty: it does
};

struct BatchSizes {
  std::int64_t given = 1;  // size of the specs; 1 where no axis stands for a batch
  std::vector<BatchSize> sizes;
};

// Size of the axis that would stand for a batch; 1 where there is none.
std::int64_t givenBatch(const std::vector<InputSpec>& specs);

// Tries the sizes on the first or second axis of all made-up tensors that are as long there as the first of them. The
// model runs on each size and on its first and last sample alone, and results must agree; the size of the specs
// themselves is taken as it is. `module` stays as it is. Throws Error(kUsage) for values that cannot be made.
BatchSizes findBatchSizes(const torch::jit::Module& module, const std::vector<InputSpec>& specs,
                          const std::vector<std::int64_t>& sizes, std::uint64_t seed);

}  // namespace ipex_studio
