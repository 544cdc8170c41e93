// Labels of operations for people: the module they come from, and the operations fused onto them.
#pragma once

#include <string>
#include <vector>

#include "core/graph/origins.h"
#include "core/op/op_spec.h"

namespace ipex_studio {

// Returns "layer1.0.conv3 + add + relu": the module path of the first origin that has one (else the kind), then the
// post-ops.
std::string operationLabel(const OriginTable& origins, const std::vector<OriginId>& ids, const OpSpec& spec);

// The label of an ipex_studio:: operator of a graph; empty for any other node, or if its description is no constant.
std::string fusedNodeLabel(const OriginTable& origins, const torch::jit::Node* node);

}  // namespace ipex_studio
