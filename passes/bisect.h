// Finds the first node at which an optimized model differs from its original, and the rewrite, kernel or decision about
// precision that makes it so.
#pragma once

#include <functional>

#include "core/record/bisect_record.h"
#include "passes/fault_search.h"

namespace ipex_studio {

// Results are compared on all steps, nodes on the first. What is to blame is left out alone, and the results compared
// again. Memory: values of one node of both sides at a time beside those that are live in a run. `progress` (may be
// empty) gets what is done now. Throws what making and running the models throws.
BisectRecord bisectOptimized(const WrongModel& model, const std::function<void(const std::string&)>& progress = {});

}  // namespace ipex_studio
