// A person's decisions about the precision of operations: OptimizeOptions::precision_overrides.
#pragma once

#include <string>
#include <vector>

#include "core/graph/origins.h"

namespace ipex_studio {

// "fp32", "bf16", "int8", or "" where nothing was decided. `kind`: opKindName() of the operation. A module's name
// stands for all that is in it. What cannot be read decides nothing.
std::string decidedPrecision(const std::vector<std::string>& overrides, const OriginTable& origins,
                             const torch::jit::Node* node, const std::string& kind);

}  // namespace ipex_studio
