// An interpreter of plan specs that knows nothing of layouts or arenas.
#pragma once

#include <optional>
#include <vector>

#include "random_plan.h"

namespace ipex_studio::testing {

// Runs node by node with the last kernel of each kind's list, on dense copies. Empty when a shape does not fit.
std::optional<std::vector<Tensor>> interpret(const PlanSpec& spec, const std::vector<Tensor>& inputs, const std::vector<std::int64_t>& ints,
                                             const std::vector<Tensor>& constants, const KernelList& kernels);

}  // namespace ipex_studio::testing
