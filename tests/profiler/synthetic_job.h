// A job like that of a ResNet-50, made from a seed: every field of every record is set.
#pragma once

#include <cstdint>

#include "core/record/records.h"

namespace ipex_studio::testing {

struct SyntheticSize {
  std::int32_t blocks = 16;    // residual blocks; a run has 3 * blocks + 3 steps or more
  std::int32_t samples = 200;  // latencies per run and samples per step
};

JobRecord syntheticJob(std::uint64_t seed = 1, SyntheticSize size = {});
inline JobRecord smallJob(std::uint64_t seed = 1) { return syntheticJob(seed, {2, 20}); }

}  // namespace ipex_studio::testing
