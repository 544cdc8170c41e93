// Which values of two forms of a model should be equal.
#pragma once

#include <functional>
#include <vector>

#include "core/compare/lockstep.h"
#include "core/graph/origins.h"

namespace ipex_studio {

// Pairs each value of the frozen graph, whose nodes `table` has, with that of the last node of `other` that comes from
// it. `origins`: of the nodes of `other` at the top level in order, without constants.
std::vector<ValuePair> pairsByOrigins(torch::jit::Graph& original, const OriginTable& table, torch::jit::Graph& other,
                                      const std::vector<std::vector<OriginId>>& origins,
                                      const std::unordered_map<OriginId, at::Tensor>& divisors);

// Pairs each value inside of a block of the frozen graph with those of all nodes of `other` that come from it, wherever
// they stand. `originsOf`: of a node of `other`; empty for constants.
std::vector<ValuePair> pairsInside(torch::jit::Graph& original, const OriginTable& table, torch::jit::Graph& other,
                                   const std::function<std::vector<OriginId>(const torch::jit::Node*)>& originsOf);
// Values inside of the blocks of nodes that are a pair, and of blocks inside of those, aligned as pairsByStructure()
// does.
std::vector<ValuePair> pairsInside(const std::vector<ValuePair>& around);

// Aligns the nodes of two frozen graphs whose sizes are recorded (recordShapes()): in their order, by kind, module,
// place in the source, names, sizes and constants. What only one of them has is paired through what reads it. Both
// graphs are at their top level.
std::vector<ValuePair> pairsByStructure(torch::jit::Graph& original, torch::jit::Graph& other);

// Adds pairs for values of the other graph that have none: with the value of the original that has the same sizes and
// elements; then, on both sides, the first values behind those that are found on the other side. Runs both graphs
// once and keeps a few elements of each value.
void addPairsByValue(const Lockstep& graphs, std::vector<ValuePair>* pairs);

}  // namespace ipex_studio
