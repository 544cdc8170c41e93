// In what a node differs from its counterpart in another graph, and the other graph with the difference taken back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/compare/lockstep.h"

namespace ipex_studio {

struct NodeChange {
  std::string cause;  // BisectRecord::cause: "weight", "operands", "argument", "operator"
  std::string blame;  // "weight", "operands 0 and 1", "stride", "aten::mul"
  std::string why;    // a clause
};

// `pair`: values that differ though all that their nodes read is equal; `pairs`: of both graphs. nullopt: nothing is
// seen that differs.
std::optional<NodeChange> changeOf(const ValuePair& pair, const std::vector<ValuePair>& pairs);

// Puts the original's node into the other graph in the place of the pair's, reading the counterparts of what it reads.
// False, and nothing is changed, where the other graph lacks one of them.
bool takeBack(const ValuePair& pair, const std::vector<ValuePair>& pairs);

}  // namespace ipex_studio
