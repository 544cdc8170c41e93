// Times of a module, and of two against each other.
#pragma once

#include "core/model/model.h"

namespace ipex_studio {

// Median of forward over so many seconds, in ns.
double medianForward(torch::jit::Module& module, const Inputs& inputs, double seconds);

// Time of `candidate` over that of `base`: the median over rounds, and its 95 % interval.
struct InterleavedRatio {
  double value = 1, low = 1, high = 1;
};

// Taken interleaved, so that a busy machine slows both; more of them until `bound` is outside the interval, within reason.
InterleavedRatio interleavedRatio(torch::jit::Module& candidate, torch::jit::Module& base, const Inputs& inputs,
                                  double bound);

}  // namespace ipex_studio
