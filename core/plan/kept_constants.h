// KeptConstants: constants that a plan owns or shares with the weight cache of its model. Private to core/plan.
//
// Constants that a plan computes belong to it alone, since another input signature has others; packed weights are
// shared.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "core/op/kernel.h"

namespace ipex_studio {

// Limits for results that a plan keeps; larger ones are computed again in every run, since they would push the weights
// out of the caches, and a hostile model could ask for any amount.
inline constexpr std::size_t kMaxComputedBytesEach = std::size_t{16} << 20;
inline constexpr std::size_t kMaxComputedBytesPerPlan = std::size_t{64} << 20;

class KeptConstants {
 public:
  // True if the plan may own `bytes` more.
  bool mayKeep(std::size_t bytes) const {
    return bytes <= kMaxComputedBytesEach && computed_bytes_ + bytes <= kMaxComputedBytesPerPlan;
  }
  // Makes the buffer the plan's own; returns its data.
  const void* keep(Buffer buffer) {
    computed_bytes_ += buffer.bytes();
    return *computed_.insert(share(std::make_shared<const Buffer>(std::move(buffer)))).first;
  }
  // Holds a buffer of the weight cache for the plan; returns its data.
  const void* share(WeightCache::Packed packed) {
    kept_.push_back(std::move(packed));
    return kept_.back()->data();
  }

  // True for what keep() returned.
  bool isComputed(const void* data) const { return computed_.count(data) != 0; }
  std::size_t computedBytes() const { return computed_bytes_; }
  std::vector<WeightCache::Packed> take() { return std::move(kept_); }

 private:
  std::vector<WeightCache::Packed> kept_;
  std::set<const void*> computed_;
  std::size_t computed_bytes_ = 0;
};

}  // namespace ipex_studio
