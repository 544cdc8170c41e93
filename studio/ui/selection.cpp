// See selection.h.
#include "studio/ui/selection.h"

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

bool Selection::take(const std::string& action) {
  const auto found = std::find_if(requests_.begin(), requests_.end(),
                                  [&](const Request& request) { return request.action == action; });
  if (found == requests_.end()) return false;
  requests_.erase(found);
  return true;
}

std::optional<std::string> Selection::nextRequest() {
  const auto found =
      std::find_if(requests_.begin(), requests_.end(), [](const Request& request) { return !request.seen; });
  if (found == requests_.end()) return std::nullopt;
  found->seen = true;
  return found->action;
}

void Selection::ageRequests() {
  for (Request& request : requests_) --request.frames_left;
  const auto old = [](const Request& request) { return request.frames_left <= 0; };
  requests_.erase(std::remove_if(requests_.begin(), requests_.end(), old), requests_.end());
}

}  // namespace ipex_studio
