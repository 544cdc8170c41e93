// When rounds of two versions have told enough.
#pragma once

#include "profiler/statistics.h"

namespace ipex_studio {

// With fewer rounds the interval means little.
constexpr int kMinRoundsToDecide = 7;

// True if the same version is ahead in every round and in the 95 % interval: two equal versions reach that once in 64 times,
// however often it is checked, so that checking early does not turn chance into a difference. Also true if the interval is
// too narrow to hold a difference worth reporting. Both have the same rounds, at least kMinRoundsToDecide.
bool isDecided(const RoundSamples& before, const RoundSamples& after);

}  // namespace ipex_studio
