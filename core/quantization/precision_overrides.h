// The user's decisions about the precision of operations: OptimizeOptions::precision_overrides.
#pragma once

#include <string>
#include <vector>

#include "core/graph/origins.h"

namespace ipex_studio {

// Returns the decided precision: "fp32", "bf16", "int8", or "" if there is no decision. `kind`: opKindName() of the
// operation. A module's name stands for everything in it. Overrides that cannot be parsed are ignored.
std::string decidedPrecision(const std::vector<std::string>& overrides, const OriginTable& origins,
                             const torch::jit::Node* node, const std::string& kind);

}  // namespace ipex_studio
