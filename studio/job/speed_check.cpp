// Rounds, the rule for a verdict, and its confirmation in new processes.
#include "studio/job/speed_check.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ipex_studio {
namespace {

constexpr int kFirstLook = 9, kBetweenLooks = 3, kMaxCheckRounds = 120;
// Sets of processes. Where a process lies in memory can hide or feign a slowdown, so one set does not decide unless the
// new model was faster in it: those that are slower have to lead by two, or those that are not. A set whose control
// differs does not count.
constexpr int kMaxSets = 6, kLead = 2;
// Share of the time that is left which one set leaves to the next.
constexpr double kShareOfOthers = 0.5;

double lowerQuartile(std::vector<std::int64_t> samples) {
  std::sort(samples.begin(), samples.end());
  return static_cast<double>(percentile(samples, 25));
}

// The median of the ratios of two sides, and its 95 % interval.
Interval medianOfRatios(const std::vector<RoundTimes>& rounds, CheckSide a, CheckSide b) {
  std::vector<double> ratios;
  for (const RoundTimes& round : rounds)
    ratios.push_back(round[static_cast<std::size_t>(a)] / std::max(1.0, round[static_cast<std::size_t>(b)]));
  std::sort(ratios.begin(), ratios.end());
  const auto count = static_cast<double>(ratios.size());
  const auto outside =
      static_cast<std::size_t>(std::max(0.0, std::floor(count / 2 - 0.98 * std::sqrt(count))));  // 2.5 % per side
  return {ratios[ratios.size() / 2], ratios[outside], ratios[ratios.size() - 1 - outside]};
}

// True if there is time for as many rounds as a first look needs; `round_s`: what a round has taken. Fewer rounds have
// no interval that could decide.
bool hasTimeForSet(double left_s, double round_s) { return left_s > kFirstLook * round_s; }

// One set of processes, until its verdict is clear or `least_left_s` is left.
RoundsVerdict takeRounds(RoundSource& source, double allowed, double least_left_s) {
  std::vector<RoundTimes> rounds;
  std::array<CheckSide, 3> order = {CheckSide::kOld, CheckSide::kNew, CheckSide::kControl};
  RoundsVerdict verdict;
  for (int round = 0; verdict.open; ++round) {
    rounds.emplace_back();
    for (const CheckSide side : order) {
      rounds.back()[static_cast<std::size_t>(side)] = lowerQuartile(source.take(side, round));
    }
    // Every order comes up, so that no side profits from its place in a round.
    std::next_permutation(order.begin(), order.end());
    const bool last = round + 1 >= kMaxCheckRounds || source.secondsLeft() < least_left_s;
    if (!last && (round + 1 < kFirstLook || (round + 1 - kFirstLook) % kBetweenLooks != 0)) continue;
    verdict = judgeRounds(rounds, allowed, last);
    verdict.check.rounds = round + 1;
  }
  return verdict;
}

}  // namespace

RoundsVerdict judgeRounds(const std::vector<RoundTimes>& rounds, double allowed, bool last) {
  const Interval to_old = medianOfRatios(rounds, CheckSide::kNew, CheckSide::kOld);
  const Interval to_control = medianOfRatios(rounds, CheckSide::kNew, CheckSide::kControl);
  RoundsVerdict verdict;
  SpeedCheck& check = verdict.check;
  check.control = medianOfRatios(rounds, CheckSide::kControl, CheckSide::kOld);
  // The process of the old model that makes the new one look better.
  check.ratio = to_old.value < to_control.value ? to_old : to_control;
  const double low = std::min(to_old.low, to_control.low), high = std::min(to_old.high, to_control.high);
  check.noisy = std::abs(check.control.value - 1) > allowed && (check.control.low > 1 || check.control.high < 1);
  // Where processes of one model differ, slower is only what differs from them by more than they do.
  const double between = std::max(check.control.value, 1 / check.control.value);
  const bool over = check.ratio.value > (check.noisy ? std::max(between, 1 + allowed) : 1 + allowed);
  check.slower = over && low > 1;
  const bool surely_slower = over && low > 1 + allowed / 2, surely_not = high < 1 + allowed;
  verdict.open = !last && !surely_slower && !surely_not;
  return verdict;
}

SpeedCheck checkSpeed(RoundSource& source, double allowed) {
  SpeedCheck check;
  int lead = 0;  // sets that were slower, less those that were not
  double round_s = 0;
  for (int set = 0; set < kMaxSets; ++set) {
    const double left_s = source.secondsLeft();
    if (set > 0) {
      if (!hasTimeForSet(left_s, round_s)) break;
      source.restart();
    }
    const double begin_s = source.secondsLeft();
    check = takeRounds(source, allowed, set + 1 < kMaxSets ? left_s * kShareOfOthers : 0).check;
    round_s = (begin_s - source.secondsLeft()) / check.rounds;
    if (check.slower) ++lead;
    if (!check.slower && !check.noisy) --lead;
    if (lead >= kLead || lead <= -kLead || (lead < 0 && check.ratio.value < 1)) break;
  }
  check.slower = lead >= kLead;
  return check;
}

}  // namespace ipex_studio
