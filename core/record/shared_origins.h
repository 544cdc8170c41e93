// Origins that two lists have in common.
#pragma once

#include <algorithm>
#include <vector>

#include "core/record/records.h"

namespace ipex_studio {

// True if one is in both.
inline bool shareOrigin(const std::vector<OriginId>& a, const std::vector<OriginId>& b) {
  return std::any_of(a.begin(), a.end(), [&](OriginId id) { return std::find(b.begin(), b.end(), id) != b.end(); });
}

}  // namespace ipex_studio
