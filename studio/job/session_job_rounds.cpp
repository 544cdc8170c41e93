// Rounds: times the engines of a job one after the other, again and again, so that a slow drift of the machine favours
// none.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "core/runtime/machine_load.h"
#include "studio/job/interleaved_timing.h"
#include "studio/job/session_job_side.h"
#include "studio/job/session_request.h"

namespace ipex_studio {
namespace {

constexpr int kTimingRounds = 10;  // least number per variant; the interval resamples rounds
constexpr int kMaxTimingRounds = 40;
constexpr double kLongestTurn_s = 0.3;
constexpr int kMaxRepeats = 2;  // repetitions of a round during which the window was drawn
// Time kept back for comparing results after the last round.
constexpr double kVerdict_s = 0.3;

}  // namespace

void ModelJob::takeTurn(Side& side, int index, double seconds, std::int64_t iterations) {
  for (int attempt = 0;; ++attempt) {
    std::this_thread::sleep_for(kTurnPause);
    events_.onTimed(true);
    side.process->send(toJson(Turn{index, seconds, iterations}));
    const RoundResult result = turnResultFromJson(expect(side, "samples"));
    events_.onTimed(false);
    if (result.latency_ns.empty()) unexpectedMessage("samples");
    if (index < 0) {
      side.run.warmup_iterations += static_cast<std::int32_t>(std::min<std::size_t>(result.latency_ns.size(), 1 << 30));
      return;
    }
    std::vector<std::int64_t> samples = undisturbed(result);
    disturbed_ += result.latency_ns.size() - samples.size();
    if (samples.empty() && attempt < kMaxRepeats) continue;
    // If the window drew during all samples, the disturbed ones count after all.
    if (samples.empty()) samples = result.latency_ns;
    side.run.latency_ns.insert(side.run.latency_ns.end(), samples.begin(), samples.end());
    side.run.turn.insert(side.run.turn.end(), samples.size(), index);
    side.wall_ns += result.wall_ns;
    side.cpu_ns += result.cpu_ns;
    addNoise(result.noise, &side.run.noise);
    return;
  }
}

// Samples of a round that were taken while this program did nothing else.
std::vector<std::int64_t> ModelJob::undisturbed(const RoundResult& result) {
  const auto begin = static_cast<double>(result.begin_ns);
  if (!model_.worker.empty() || !events_.disturbed(begin, begin + static_cast<double>(result.wall_ns)))
    return result.latency_ns;
  std::vector<std::int64_t> kept;
  if (request_.measure.instances > 1) return kept;  // instances run side by side, so single samples have no begin
  double at = begin;
  for (const std::int64_t ns : result.latency_ns) {
    if (!events_.disturbed(at, at + static_cast<double>(ns))) kept.push_back(ns);
    at += static_cast<double>(ns);
  }
  return kept;
}

void ModelJob::runInterleaved(std::vector<Side*> sides) {
  const MeasureOptions& options = request_.measure;
  for (Side* side : sides) {
    progress("warm up " + side->run.variant, kRoundsBegin);
    if (options.warmup_s > 0) takeTurn(*side, -1, options.warmup_s, 0);
  }
  const bool decides = request_.decide_within_s > 0 && before_ && options.iterations == 0;
  double round_s = std::min(kLongestTurn_s, options.duration_s / kTimingRounds);
  auto rounds =
      options.iterations > 0
          ? static_cast<int>(std::min<std::int64_t>(kTimingRounds, options.iterations))
          : std::max(kTimingRounds, static_cast<int>(std::lround(options.duration_s / std::max(round_s, 1e-9))));
  if (decides) {
    // With little time left rounds are short: the interval depends on their number.
    const double left_s = request_.decide_within_s - kVerdict_s - elapsed_s();
    round_s = std::clamp(left_s / (kTimingRounds * static_cast<double>(sides.size())) -
                             std::chrono::duration<double>(kTurnPause).count(),
                         0.001, round_s);
    rounds = kMaxTimingRounds;
  }
  std::int64_t iterations_left = options.iterations;
  for (int turn = 0; turn < rounds; ++turn) {
    if (decides && roundsAreEnough(turn)) break;
    progress("measure", kRoundsBegin + (kRoundsEnd - kRoundsBegin) * turn / rounds);
    const std::int64_t iterations = iterations_left / (rounds - turn);
    iterations_left -= iterations;
    for (Side* side : sides) takeTurn(*side, turn, round_s, iterations);
    // The order changes each round, so that a slow drift of the machine favours neither side.
    std::reverse(sides.begin(), sides.end());
  }
  if (disturbed_ > 0)
    events_.onLog(fmt::format("{} samples were taken while the window was drawn; they do not count.", disturbed_),
                  false);
  disturbed_ = 0;
}

bool ModelJob::roundsAreEnough(int rounds) const {
  if (rounds < kMinRoundsToDecide) return false;
  const RunRecord& before = baseline_->run;
  const RunRecord& after = optimized_->run;
  if (elapsed_s() > request_.decide_within_s - kVerdict_s) return true;
  return isDecided({before.latency_ns, before.turn}, {after.latency_ns, after.turn});
}

}  // namespace ipex_studio
