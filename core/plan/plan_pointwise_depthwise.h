// Joins two nodes that a plan may compute as one step: a 1x1 convolution and the depthwise convolution that is its only
// reader. A measurement decides whether a plan does (tuner_pointwise_depthwise.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/op/kernel.h"
#include "core/op/plan_spec.h"

namespace ipex_studio {

// Per node of the spec: the depthwise convolution that it may be joined with, -1 for most nodes. Both have FP32
// constant weights, and the first has at most one, unary post-operation.
std::vector<std::int32_t> joinableReaders(const PlanSpec& spec);

// The operation that computes both nodes, with its sources and its name.
struct JoinedNodes {
  OpSpec op;
  std::vector<std::int32_t> src;
  std::string name;
  std::vector<OriginId> origins;
};
JoinedNodes joinNodes(const PlanNode& expand, const PlanNode& depthwise);

// True if this is the name of a kernel that computes two nodes as one step.
bool computesBoth(const KernelList& kernels, DeviceKind device, const std::string& kernel);

}  // namespace ipex_studio
