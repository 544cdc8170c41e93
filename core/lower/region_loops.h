// Loops whose body is one region. Private to regions.cpp and its tests.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/origins.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

struct RegionLoop {
  torch::jit::Node* call = nullptr;            // of ipex_studio::region_loop
  int nodes = 0;                               // of the body that it does beside the region
  int outside = 0;                             // that it does before and behind the loop
  int hoisted = 0;                             // that stand before the loop now
  std::vector<std::vector<OriginId>> origins;  // of these nodes, one after another
};

// Puts one node in the place of a loop whose body is a region, slices of tensors by the number of the round, and values
// that are collected: appended to a list that is stacked or joined behind the loop, or written to slices of a new
// tensor. Rounds are then no work of the interpreter (kernels/torch/plans/region_loop.h).
//   before  %h = prim::Loop(%n, %true, %h0): %s = select(%x, 1, %t)  %y = region(%r, [%s, %h], [])  append(%l, %y)
//           %z = stack(%l, 1)
//   after   %h, %z = region_loop(%r, form, %n, [%h0, %x], [])
// Nothing is done, and nullopt returned, for other loops, and where `left_out`, which may be empty, is true for a node.
std::optional<RegionLoop> replaceRegionLoop(torch::jit::Node* loop, OriginTable& origins,
                                            const std::function<bool(const torch::jit::Node*)>& left_out);

}  // namespace ipex_studio
