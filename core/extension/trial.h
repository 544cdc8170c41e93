// Trials of what this libtorch computes.
#pragma once

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// True if libtorch ends the computation with an error of its own.
inline bool isRefused(void (*compute)()) {
  const torch::NoGradGuard no_grad;
  try {
    compute();
    return false;
  } catch (const c10::Error&) {
    return true;
  }
}

}  // namespace ipex_studio
