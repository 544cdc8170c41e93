// Digests of runs: medians per step and per run.
#include "profiler/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>

namespace ipex_studio {
namespace {

std::string itemKey(const StepTime& time) {
  if (time.step >= 0) return std::to_string(time.step);
  std::string key = "n" + time.kind + '\n' + time.name;
  for (const OriginId origin : time.origins) key += '\n' + std::to_string(origin);
  return key;
}

StepSummary summaryOf(const StepSamples& item, const StepRecord* step) {
  StepSummary summary;
  if (step) {
    summary.step = step->index;
    summary.name = step->name;
    summary.kind = step->kind;
    summary.kernel = step->kernel;
    summary.implementation = step->implementation;
    summary.device = step->device;
    summary.src_layout = step->src_layout;
    summary.dst_layout = step->dst_layout;
    summary.dst_shape = step->dst_shape;
    summary.micro_batches = step->micro_batches;
    summary.runs = step->runs;
    summary.precision = step->precision;
    summary.origins = step->origins;
    summary.flops = step->flops;
  } else {
    summary.name = item.first->name.empty() ? item.first->kind : item.first->name;
    summary.kind = item.first->kind;
    summary.kernel = "interpreter";
    summary.origins = item.first->origins;
  }
  std::vector<std::int64_t> sorted = item.elapsed_ns;
  std::sort(sorted.begin(), sorted.end());
  summary.samples = static_cast<std::int64_t>(sorted.size());
  if (sorted.empty()) return summary;
  summary.p50_ns = std::llround(summary.runs * static_cast<double>(percentile(sorted, 50)));
  summary.p99_ns = std::llround(summary.runs * static_cast<double>(percentile(sorted, 99)));
  return summary;
}

void scale(double factor, double run_p50_ns, StepSummary* step) {
  step->p50_ns = static_cast<std::int64_t>(factor * static_cast<double>(step->p50_ns));
  step->p99_ns = static_cast<std::int64_t>(factor * static_cast<double>(step->p99_ns));
  if (run_p50_ns > 0) step->share = static_cast<double>(step->p50_ns) / run_p50_ns;
  if (step->p50_ns > 0) step->gflops_per_s = static_cast<double>(step->flops) / static_cast<double>(step->p50_ns);
}

}  // namespace

std::string shapeText(const std::string& dst_shape, std::int32_t micro_batches, double runs) {
  const std::string once = micro_batches > 1 ? fmt::format("{} × {}", micro_batches, dst_shape) : dst_shape;
  return runs > 1 ? fmt::format("{:.3g} × {}", runs, once) : once;
}

double stepScale(double steps_ns, double run_ns) { return run_ns > 0 && steps_ns > run_ns ? run_ns / steps_ns : 1; }

std::string stepScaleText(double scale) {
  if (scale >= 1) return "";
  return fmt::format("the runs in which steps were timed took {:.2g} times as long; scaled", 1 / scale);
}

std::vector<StepSamples> stepSamples(const RunRecord& run) {
  std::vector<StepSamples> items;
  std::unordered_map<std::string, std::size_t> known;
  for (const StepTime& time : run.step_times) {
    const auto [at, is_new] = known.emplace(itemKey(time), items.size());
    if (is_new) items.push_back({&time, {}});
    std::vector<std::int64_t>& samples = items[at->second].elapsed_ns;
    samples.insert(samples.end(), time.elapsed_ns.begin(), time.elapsed_ns.end());
  }
  return items;
}

RunDigest digestOf(const RunRecord& run) {
  RunDigest digest;
  digest.latency = latencyStats(run.latency_ns);
  if (digest.latency.mean_ns > 0) digest.throughput_per_s = run.instances * 1e9 / digest.latency.mean_ns;

  std::unordered_map<std::int32_t, const StepRecord*> steps;
  for (const StepRecord& step : run.steps) steps.emplace(step.index, &step);
  double profiled_ns = 0;
  for (const StepSamples& item : stepSamples(run)) {
    const auto step = steps.find(item.first->step);
    digest.steps.push_back(summaryOf(item, step == steps.end() ? nullptr : step->second));
    profiled_ns += static_cast<double>(digest.steps.back().p50_ns);
  }
  if (digest.steps.empty()) return digest;
  digest.step_scale = stepScale(profiled_ns, digest.latency.p50_ns);
  for (StepSummary& step : digest.steps) {
    scale(digest.step_scale, digest.latency.p50_ns, &step);
    digest.steps_p50_ns += step.p50_ns;
  }
  if (digest.latency.p50_ns > 0)
    digest.unattributed_ns = static_cast<std::int64_t>(digest.latency.p50_ns) - digest.steps_p50_ns;
  return digest;
}

std::vector<std::size_t> slowestFirst(const std::vector<StepSummary>& steps) {
  std::vector<std::size_t> order(steps.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return steps[a].p50_ns > steps[b].p50_ns; });
  return order;
}

const RunRecord* findRun(const JobRecord& job, std::string_view variant) {
  // Among runs in several precisions the last one has the precision that was asked for.
  for (auto run = job.runs.rbegin(); run != job.runs.rend(); ++run) {
    if (run->variant == variant) return &*run;
  }
  return nullptr;
}

Interval speedupOf(const JobRecord& job) {
  const RunRecord* baseline = findRun(job, "baseline");
  const RunRecord* optimized = findRun(job, "optimized");
  if (!baseline || !optimized) return {};
  return medianRatio({baseline->latency_ns, baseline->turn}, {optimized->latency_ns, optimized->turn});
}

std::vector<MissedReason> missedReasons(const JobRecord& job) {
  std::map<std::string, MissedReason> by_reason;
  for (const Remark& remark : job.remarks) {
    if (remark.kind != RemarkKind::kMissed) continue;
    MissedReason& entry = by_reason[remark.reason];
    entry.reason = remark.reason;
    entry.remarks.push_back(&remark);
  }
  std::vector<MissedReason> result;
  for (auto& entry : by_reason) result.push_back(std::move(entry.second));
  std::stable_sort(result.begin(), result.end(),
                   [](const MissedReason& a, const MissedReason& b) { return a.remarks.size() > b.remarks.size(); });
  return result;
}

}  // namespace ipex_studio
