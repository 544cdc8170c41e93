// Labels of operations for people: the module they come from, and the operations fused onto them.
#pragma once

#include <string>
#include <vector>

#include "core/graph/origins.h"
#include "core/op/op_spec.h"

namespace ipex_studio {

// "layer1.0.conv3 + add + relu": the module path of the first origin that has one (else the kind), then the post-ops.
std::string operationLabel(const OriginTable& origins, const std::vector<OriginId>& ids, const OpSpec& spec);

// The same for an ipex_studio:: operator of a graph; empty for any other node, or one whose description is no constant.
std::string fusedNodeLabel(const OriginTable& origins, const torch::jit::Node* node);

}  // namespace ipex_studio
