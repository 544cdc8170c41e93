// KeptConstants: constants that a plan owns or shares with the weight cache of its model. Private to core/plan.
//
// What a plan computes from constants belongs to it alone, since another signature has others; packed weights are shared.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "core/op/kernel.h"

namespace ipex_studio {

// Larger results are computed again in every run: they would push the weights out of the caches, or a hostile plan asks
// for them.
inline constexpr std::size_t kMaxComputedBytesEach = std::size_t{16} << 20;
inline constexpr std::size_t kMaxComputedBytesPerPlan = std::size_t{64} << 20;

class KeptConstants {
 public:
  // True if the plan may own `bytes` more.
  bool mayKeep(std::size_t bytes) const {
    return bytes <= kMaxComputedBytesEach && computed_bytes_ + bytes <= kMaxComputedBytesPerPlan;
  }
  // The plan's own from now on; returns its data.
  const void* keep(Buffer buffer);
  // Shared with the weight cache; returns its data.
  const void* share(WeightCache::Packed packed);

  std::size_t computedBytes() const { return computed_bytes_; }
  std::vector<WeightCache::Packed> take() { return std::move(kept_); }

 private:
  std::vector<WeightCache::Packed> kept_;
  std::size_t computed_bytes_ = 0;
};

}  // namespace ipex_studio
