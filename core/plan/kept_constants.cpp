// Ownership of the constants that a plan computed, and its share of those in the weight cache.
#include "core/plan/kept_constants.h"

#include <memory>
#include <utility>

namespace ipex_studio {

const void* KeptConstants::keep(Buffer buffer) {
  computed_bytes_ += buffer.bytes();
  return *computed_.insert(share(std::make_shared<const Buffer>(std::move(buffer)))).first;
}

const void* KeptConstants::share(WeightCache::Packed packed) {
  kept_.push_back(std::move(packed));
  return kept_.back()->data();
}

}  // namespace ipex_studio
