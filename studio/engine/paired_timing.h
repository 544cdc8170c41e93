// Times of a module, and of two against each other.
#pragma once

#include "core/graph/model.h"

namespace ipex_studio {

// Median of forward over so many seconds, in ns.
double medianForward(torch::jit::Module& module, const Inputs& inputs, double seconds);

// Time of `candidate` over that of `base`, taken in turns so that a busy machine slows both: the median over all turns.
double ratioInTurns(torch::jit::Module& candidate, torch::jit::Module& base, const Inputs& inputs);

}  // namespace ipex_studio
