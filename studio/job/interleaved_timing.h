// When rounds of two versions have told enough.
#pragma once

#include "profiler/statistics.h"

namespace ipex_studio {

// With fewer the interval means little.
constexpr int kMinRoundsToDecide = 7;

// True when every turn has the same version ahead, and the 95 % interval too: of two equal versions that happens once in 64
// times, however often it is looked at, so that looking does not make chance a difference. Also true when the interval is so
// narrow that there is no difference worth telling. Both have the same rounds, at least kMinTurnsToDecide.
bool isDecided(const RoundSamples& before, const RoundSamples& after);

}  // namespace ipex_studio
