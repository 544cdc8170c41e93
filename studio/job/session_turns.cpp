#include "studio/job/session_turns.h"

#include <algorithm>
#include <map>

namespace ipex_studio {
namespace {

constexpr double kNoDifference = 0.004;  // of the latency, on either side

std::map<std::int32_t, std::vector<std::int64_t>> byTurn(const TurnSamples& samples) {
  std::map<std::int32_t, std::vector<std::int64_t>> turns;
  for (std::size_t s = 0; s < std::min(samples.turn.size(), samples.latency_ns.size()); ++s)
    turns[samples.turn[s]].push_back(samples.latency_ns[s]);
  return turns;
}

}  // namespace

bool isDecided(const TurnSamples& before, const TurnSamples& after) {
  const auto turns_before = byTurn(before), turns_after = byTurn(after);
  int turns = 0, faster = 0, slower = 0;
  for (const auto& [turn, samples] : turns_before) {
    const auto found = turns_after.find(turn);
    if (found == turns_after.end()) continue;
    ++turns;
    const std::int64_t was = median(samples), is = median(found->second);
    faster += is < was ? 1 : 0;
    slower += is > was ? 1 : 0;
  }
  if (turns < kMinTurnsToDecide) return false;
  const Interval ratio = medianRatio(after, before);
  if (faster == turns || slower == turns) return faster == turns ? ratio.high < 1 : ratio.low > 1;
  return ratio.low > 1 - kNoDifference && ratio.high < 1 + kNoDifference;
}

}  // namespace ipex_studio
