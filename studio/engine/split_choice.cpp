// Lists, measures and judges splits of the cores.
#include "studio/engine/split_choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/clock.h"
#include "core/model/instance_pool.h"
#include "studio/engine/job_rounds.h"

namespace ipex_studio {
namespace {

constexpr double kSplitTurn_s = 0.25;
constexpr int kSplitRounds = 2;
constexpr double kAlike = 0.01;

void measure(torch::jit::Module& module, const Inputs& inputs, Split* split) {
  InstancePool pool(module, split->instances, split->threads);
  timeInstances(pool, inputs, 0, 2 * split->instances);  // plans and arenas are made
  const std::int64_t begin = nowNs();
  std::vector<std::int64_t> samples = timeInstances(pool, inputs, kSplitTurn_s, 0);
  const double seconds = static_cast<double>(nowNs() - begin) * 1e-9;
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  const double latency_ms = static_cast<double>(*middle) * 1e-6;
  // The better round counts, as other work on the machine only slows it down.
  split->latency_ms = split->latency_ms == 0 ? latency_ms : std::min(split->latency_ms, latency_ms);
  split->requests_per_s = std::max(split->requests_per_s, static_cast<double>(samples.size()) / seconds);
}

std::string figures(const Split& split, Hint hint) {
  const std::string value = hint == Hint::kLatency ? fmt::format("{:.2f} ms", split.latency_ms)
                                                   : fmt::format("{:.1f} requests/s", split.requests_per_s);
  return fmt::format("{} x {} threads {}", split.instances, split.threads, value);
}

}  // namespace

std::vector<Split> splitsOf(std::int32_t cores, Hint hint) {
  std::vector<std::int32_t> threads{std::max(cores, 1)};
  std::int32_t power = 1;
  while (2 * power < cores) power *= 2;
  for (; power >= 1 && cores > 1; power /= 2) threads.push_back(power);
  std::vector<Split> splits;
  for (const std::int32_t count : threads) {
    Split split;
    split.threads = count;
    split.instances = hint == Hint::kThroughput ? std::max(1, cores / count) : 1;
    splits.push_back(split);
  }
  return splits;
}

Split bestSplit(const std::vector<Split>& measured, Hint hint) {
  const auto cost = [hint](const Split& split) {
    return hint == Hint::kLatency ? split.latency_ms : 1 / std::max(split.requests_per_s, 1e-9);
  };
  const auto modesty = [hint](const Split& split) { return hint == Hint::kLatency ? split.threads : split.instances; };
  const double least = cost(*std::min_element(measured.begin(), measured.end(),
                                              [&](const Split& a, const Split& b) { return cost(a) < cost(b); }));
  const Split* best = nullptr;
  for (const Split& split : measured) {
    if (cost(split) <= least * (1 + kAlike) && (best == nullptr || modesty(split) < modesty(*best))) best = &split;
  }
  return *best;
}

Split chooseSplit(torch::jit::Module& module, const Inputs& inputs, std::int32_t cores, Hint hint,
                  std::string* sentence) {
  std::vector<Split> splits = splitsOf(cores, hint);
  for (int turn = 0; turn < kSplitRounds; ++turn) {
    for (Split& split : splits) measure(module, inputs, &split);
    std::reverse(splits.begin(), splits.end());
  }
  const Split best = bestSplit(splits, hint);
  *sentence = fmt::format("--hint {}: {} x {} threads; measured", hint == Hint::kLatency ? "latency" : "throughput",
                          best.instances, best.threads);
  for (std::size_t i = 0; i < splits.size(); ++i) *sentence += (i == 0 ? " " : ", ") + figures(splits[i], hint);
  *sentence += ".";
  return best;
}

}  // namespace ipex_studio
