// Times a module, or two against each other.
#pragma once

#include "core/model/model.h"

namespace ipex_studio {

// Median time of forward over about `seconds`, in ns.
double medianForward(torch::jit::Module& module, const Inputs& inputs, double seconds);

// Time of `candidate` over that of `base`: the median over rounds, and its 95 % interval.
struct InterleavedRatio {
  double value = 1, low = 1, high = 1;
};

// Times both in alternating rounds, so that a busy machine slows both; adds rounds, up to a limit, until `bound` lies
// outside of the interval.
InterleavedRatio interleavedRatio(torch::jit::Module& candidate, torch::jit::Module& base, const Inputs& inputs,
                                  double bound);

}  // namespace ipex_studio
