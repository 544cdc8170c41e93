// The verdict on rounds: their order, or an interval too narrow to matter.
#include "studio/job/interleaved_timing.h"

#include <algorithm>
#include <map>

namespace ipex_studio {
namespace {

constexpr double kNoDifference = 0.004;  // deviation from 1 of a ratio that is not worth reporting

std::map<std::int32_t, std::vector<std::int64_t>> byTurn(const RoundSamples& samples) {
  std::map<std::int32_t, std::vector<std::int64_t>> rounds;
  for (std::size_t s = 0; s < std::min(samples.turn.size(), samples.latency_ns.size()); ++s)
    rounds[samples.turn[s]].push_back(samples.latency_ns[s]);
  return rounds;
}

}  // namespace

bool isDecided(const RoundSamples& before, const RoundSamples& after) {
  const auto rounds_before = byTurn(before), rounds_after = byTurn(after);
  int rounds = 0, faster = 0, slower = 0;
  for (const auto& [turn, samples] : rounds_before) {
    const auto found = rounds_after.find(turn);
    if (found == rounds_after.end()) continue;
    ++rounds;
    const std::int64_t was = median(samples), is = median(found->second);
    faster += is < was ? 1 : 0;
    slower += is > was ? 1 : 0;
  }
  if (rounds < kMinRoundsToDecide) return false;
  const Interval ratio = medianRatio(after, before);
  if (faster == rounds || slower == rounds) return faster == rounds ? ratio.high < 1 : ratio.low > 1;
  return ratio.low > 1 - kNoDifference && ratio.high < 1 + kNoDifference;
}

}  // namespace ipex_studio
