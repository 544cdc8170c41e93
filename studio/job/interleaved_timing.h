// Decides when the timing rounds of two versions are enough for a verdict.
#pragma once

#include "profiler/statistics.h"

namespace ipex_studio {

// Below this number of rounds the interval means little.
constexpr int kMinRoundsToDecide = 7;

// True if one version is ahead in every round and in the 95 % interval, or if the interval is too narrow to hold a
// difference worth reporting. Two equal versions reach the first once in 64 times however often it is checked, so
// checking early turns no chance into a difference. Both have the same rounds, at least kMinRoundsToDecide.
bool isDecided(const RoundSamples& before, const RoundSamples& after);

}  // namespace ipex_studio
