// See selection.h.
#include "studio/selection.h"

#include <algorithm>

namespace ipex_studio {

bool Selection::contains(OriginId origin) const { return std::binary_search(origins_.begin(), origins_.end(), origin); }

bool Selection::overlaps(const std::vector<OriginId>& origins) const {
  return std::any_of(origins.begin(), origins.end(), [this](OriginId origin) { return contains(origin); });
}

void Selection::select(std::vector<OriginId> origins, bool reveal) {
  std::sort(origins.begin(), origins.end());
  origins.erase(std::unique(origins.begin(), origins.end()), origins.end());
  if (reveal) ++reveal_generation_;
  if (origins == origins_) return;
  origins_ = std::move(origins);
  ++generation_;
}

void Selection::clear() { select({}, false); }

}  // namespace ipex_studio
