// The arenas of a run's plans over time: where each result lies, from its birth to its last use.
#pragma once

#include <cstdint>
#include <vector>

#include "studio/snapshot/snapshot_index.h"

namespace ipex_studio {

// The result of one step. Times in ns of a median run, places in bytes.
struct ArenaTensor {
  std::int32_t row = 0;  // row of its step, an index into RunIndex::rows
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  double begin_ns = 0;  // beginning of its step
  double end_ns = 0;    // end of the last step that reads it
};

// Sum of the live bytes from `at_ns` on.
struct ArenaLevel {
  double at_ns = 0;
  std::int64_t bytes = 0;
};

struct ArenaUse {
  std::vector<ArenaTensor> tensors;  // in order of their steps
  std::vector<ArenaLevel> levels;    // in order of time
  std::int64_t arena_bytes = 0;      // size of all arenas; those of several regions are stacked
  std::int64_t peak_bytes = 0;       // most bytes that are alive at once
  double peak_at_ns = 0;
  double end_ns = 0;  // end of the last step
};

// Memory of a run. Steps without times get equal durations. Empty if no step has its result in an arena.
ArenaUse arenaUse(const RunIndex& run);

}  // namespace ipex_studio
