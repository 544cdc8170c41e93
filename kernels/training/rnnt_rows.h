// The logits of one node of a transducer's lattice.
#pragma once

#include "kernels/training/rnnt_loss.h"

namespace ipex_studio {

// clamp(e^(logit - normalizer) · occupancy, ±clamp) · factor
template <typename S>
struct RnntRowGradient {
  S normalizer, occupancy, clamp, factor;
};

template <typename T>
struct RnntRowKernels {
  RnntSum<T> (*normalizer)(const T* logits, std::int64_t classes) = nullptr;  // ln Σ e^logit
  void (*gradient)(const T* logits, std::int64_t classes, const RnntRowGradient<RnntSum<T>>& terms, T* out) = nullptr;
};

// `isa`: a machine_facts tier. The versions for double are plain loops.
template <typename T>
RnntRowKernels<T> rnntRowKernels(const std::string& isa);

}  // namespace ipex_studio
