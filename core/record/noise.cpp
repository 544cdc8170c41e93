// See noise.h.
#include "core/record/noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace ipex_studio {
namespace {

// Shorter than this, counters of the kernel, which tick a hundred times a second, say nothing.
constexpr std::int64_t kMinWatched_ns = 150'000'000;
constexpr std::size_t kMinSamples = 50;
// Others may always use a little, and a part of the CPUs that the run leaves free.
constexpr double kLittle = 0.15, kPartOfFree = 0.25;
constexpr double kMaxStolen = 0.02;
constexpr double kMaxPreempted_per_s = 40;  // for each thread of the run
constexpr double kMinOwnCpu = 0.85;         // CPU time over wall time, for each instance
// A run that takes so many times as long as its steps, and so much longer, waited for something else.
constexpr double kMaxOverSteps = 4, kMinUnexplained_ns = 1e6;
constexpr double kLongestTail = 3;  // p99 over p50
constexpr double kMaxThrottled = 0.01;
constexpr double kSlowestClock = 1.2;  // slowest chain over fastest

// The percentile by nearest rank; `samples` is not empty and changes its order.
double percentileOf(std::vector<std::int64_t>& samples, std::size_t percent) {
  const auto at = samples.begin() + static_cast<std::ptrdiff_t>((samples.size() * percent + 99) / 100 - 1);
  std::nth_element(samples.begin(), at, samples.end());
  return static_cast<double>(*at);
}

std::string whyThrottled(const NoiseRecord& noise) {
  if (noise.throttled > kMaxThrottled)
    return fmt::format("a CPU quota held the run back for {:.0f} % of the time", noise.throttled * 100);
  const double slower = noise.fastest_chain_ns > 0
                            ? static_cast<double>(noise.slowest_chain_ns) / static_cast<double>(noise.fastest_chain_ns)
                            : 1;
  if (slower > kSlowestClock) return fmt::format("the CPU's clock fell to {:.0f} % of its fastest", 100 / slower);
  return "";
}

std::string whyBusy(const RunRecord& run) {
  const NoiseRecord& noise = run.noise;
  const double own = std::max(1, run.threads) * std::max(1, run.instances);
  if (noise.others > kLittle + kPartOfFree * std::max(0.0, noise.cpus - own))
    return fmt::format("other programs used {:.1f} of {} CPUs", noise.others, noise.cpus);
  if (noise.stolen > kMaxStolen)
    return fmt::format("other virtual machines took {:.0f} % of the CPUs", noise.stolen * 100);
  if (noise.preempted_per_s > kMaxPreempted_per_s * own)
    return fmt::format("threads of the run lost their CPUs to others {:.0f} times a second", noise.preempted_per_s);
  return "";
}

// Time of one run by the times of its steps, taken in runs of their own; 0 if they were not timed. A step that runs
// several times in a run counts as often.
double profiledNs(const RunRecord& run) {
  double all_ns = 0;
  std::size_t runs = 0;
  for (const StepTime& time : run.step_times) {
    if (time.elapsed_ns.empty()) continue;
    runs = runs == 0 ? time.elapsed_ns.size() : std::min(runs, time.elapsed_ns.size());
    all_ns = std::accumulate(time.elapsed_ns.begin(), time.elapsed_ns.end(), all_ns);
  }
  return runs == 0 ? 0 : all_ns / static_cast<double>(runs);
}

// Unevenness that the samples themselves show, whoever disturbed them.
std::string whyUneven(const RunRecord& run) {
  std::vector<std::int64_t> samples = run.latency_ns;
  const double all_ns = std::accumulate(samples.begin(), samples.end(), 0.0);
  if (all_ns > kMinWatched_ns && run.cpu_per_wall > 0 && run.cpu_per_wall < kMinOwnCpu * std::max(1, run.instances))
    return fmt::format("the run got only {:.2f} CPUs", run.cpu_per_wall);
  const double p50 = percentileOf(samples, 50), steps_ns = profiledNs(run);
  if (steps_ns > 0 && p50 > kMaxOverSteps * steps_ns && p50 - steps_ns > kMinUnexplained_ns)
    return fmt::format("a run took {:.3g} ms, its steps alone {:.3g} ms", p50 / 1e6, steps_ns / 1e6);
  if (samples.size() < kMinSamples) return "";
  const double p99 = percentileOf(samples, 99);
  if (p99 > kLongestTail * p50) return fmt::format("one run in a hundred took {:.1f} times the median", p99 / p50);
  return "";
}

}  // namespace

NoiseVerdict judgeNoise(const RunRecord& run) {
  if (run.latency_ns.empty()) return {};
  const bool seen = run.noise.cpus > 0 && run.noise.wall_ns >= kMinWatched_ns;
  if (seen) {
    std::string why = whyThrottled(run.noise);
    if (!why.empty()) return {NoiseLevel::kThrottled, std::move(why)};
    why = whyBusy(run);
    if (!why.empty()) return {NoiseLevel::kBusy, std::move(why)};
  }
  std::string why = whyUneven(run);
  if (!why.empty()) return {NoiseLevel::kBusy, std::move(why)};
  return {seen ? NoiseLevel::kQuiet : NoiseLevel::kUnknown, ""};
}

const NoiseVerdict& worseNoise(const NoiseVerdict& a, const NoiseVerdict& b) {
  if (a.disturbed() != b.disturbed()) return a.disturbed() ? a : b;
  // What nobody looked at is not known to be quiet.
  return a.level == NoiseLevel::kUnknown || b.level != NoiseLevel::kUnknown ? a : b;
}

NoiseVerdict judgeNoise(const JobRecord& job) {
  NoiseVerdict worst;
  bool first = true;
  for (const RunRecord& run : job.runs) {
    const NoiseVerdict verdict = judgeNoise(run);
    worst = first ? verdict : worseNoise(worst, verdict);
    first = false;
  }
  return worst;
}

const char* noiseName(NoiseLevel level) {
  constexpr const char* kNames[] = {"", "quiet", "busy", "throttled"};
  return kNames[static_cast<std::size_t>(level)];
}

NoiseLevel noiseLevel(const std::string& name) {
  for (const NoiseLevel level : {NoiseLevel::kQuiet, NoiseLevel::kBusy, NoiseLevel::kThrottled}) {
    if (name == noiseName(level)) return level;
  }
  return NoiseLevel::kUnknown;
}

std::string noiseSentence(const NoiseVerdict& verdict) {
  if (verdict.level == NoiseLevel::kQuiet) return "quiet";
  if (!verdict.disturbed()) return "";
  return fmt::format("{}: {}; measure again when quiet", noiseName(verdict.level), verdict.text);
}

}  // namespace ipex_studio
