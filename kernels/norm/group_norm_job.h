// A group norm's sizes: what group_norm_simd.cpp hands to the code of one instruction set.
#pragma once

#include <cstdint>

namespace ipex_studio {

struct GroupNormJob {
  std::int64_t channels = 0, pixels = 0, groups = 1;
  float eps = 0;
  bool channels_last = false;
};

}  // namespace ipex_studio
