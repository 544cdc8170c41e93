// Denormal numbers among the values of a run: most processors compute them many times slower than others.
#pragma once

#include <optional>
#include <vector>

#include "core/model/model.h"
#include "core/record/records.h"

namespace ipex_studio {

// Runs forward once and looks at the results of all operators in FP32. A remark on those of which more than a
// thousandth are denormal; nullopt: there are none. `origins`: as profileSteps() takes them.
std::optional<Remark> denormalsRemark(torch::jit::Module& module, const Inputs& inputs,
                                      const std::vector<Origin>& origins);

}  // namespace ipex_studio
