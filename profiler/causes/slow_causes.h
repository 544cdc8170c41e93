// What makes a model slow as it was saved: kinds of waste in its graph, with the time that they took and take. A pure
// function of records.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/causes/cause_rules.h"

namespace ipex_studio {

struct SlowCause {
  const CauseRule* rule = nullptr;
  std::int32_t count = 0;         // of nodes
  std::vector<OriginId> origins;  // sorted, unique
  double before_ns = 0;           // time of the nodes in the baseline
  double share = 0;               // of the time of all its operations, 0..1
  double after_ns = 0;            // time of what is left of them; 0 also where another step does them in passing

  // True if most of the time is still spent.
  bool remains() const { return after_ns > 0.3 * before_ns; }
};

// Those with a share worth telling, the largest first; empty where the baseline's operations were not timed. Nodes may
// belong to several.
std::vector<SlowCause> slowCauses(const JobRecord& job);

// "9 operations compute in double precision (FP64)".
std::string causeSentence(const SlowCause& cause);

}  // namespace ipex_studio
