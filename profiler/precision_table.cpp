// Rows of the precision, trade-off and sensitivity tables.
#include "profiler/precision_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "profiler/aligned_rows.h"
#include "profiler/summary.h"
#include "profiler/text.h"

namespace ipex_studio {
namespace {

std::string metricText(const MetricRecord& metric) {
  if (metric.name == "top-1" || metric.name == "top-5")
    return fmt::format("{} {:.2f} %", metric.name, 100 * metric.value);
  if (metric.name == "sqnr") return fmt::format("SQNR {}", accuracyText(metric.value));
  return fmt::format("{} {:.5g}", printable(metric.name), metric.value);
}

// Writes "int8 83 % of the steps, 71 % of the time".
std::string sharesText(const RunRecord& run) {
  std::map<std::string, std::pair<double, double>> shares;
  double steps = 0, time = 0;
  std::map<std::int32_t, double> times;
  for (const StepSummary& step : digestOf(run).steps) {
    if (step.step >= 0) times[step.step] = static_cast<double>(step.p50_ns);
  }
  for (const StepRecord& step : run.steps) {
    auto& [count, ns] = shares[step.precision];
    count += 1;
    steps += 1;
    const auto found = times.find(step.index);
    ns += found == times.end() ? 0 : found->second;
    time += found == times.end() ? 0 : found->second;
  }
  std::string text;
  for (const auto& [precision, share] : shares) {
    text += fmt::format("{}{} {:.0f} %/{:.0f} %", text.empty() ? "" : ", ", printable(precision),
                        100 * share.first / steps, time > 0 ? 100 * share.second / time : 0.0);
  }
  return text;
}

}  // namespace

std::string precisionTable(const JobRecord& job) {
  TextRows rows{{"", "p50 ms", "speed-up", "on the data", "", "size MB", "peak MB", "steps/time"}};
  const RunRecord* baseline = findRun(job, "baseline");
  for (const RunRecord& run : job.runs) {
    std::vector<std::string> row{runName(run.variant, run.precision, run.device),
                                 msText(latencyStats(run.latency_ns).p50_ns)};
    const bool compared = baseline != nullptr && &run != baseline && !run.latency_ns.empty();
    const Interval ratio =
        compared ? medianRatio({baseline->latency_ns, baseline->turn}, {run.latency_ns, run.turn}) : Interval();
    row.push_back(ratio.value > 0 ? fmt::format("{} [{:.2f}, {:.2f}]", ratioText(ratio.value), ratio.low, ratio.high)
                                  : "");
    for (std::size_t m = 0; m < 2; ++m) row.push_back(m < run.metrics.size() ? metricText(run.metrics[m]) : "");
    row.push_back(run.export_bytes > 0 ? megabytes(run.export_bytes) : "");
    row.push_back(run.peak_rss_bytes > 0 ? megabytes(run.peak_rss_bytes) : "");
    row.push_back(sharesText(run));
    rows.push_back(std::move(row));
  }
  return alignedRows(rows);
}

std::string tradeoffTable(const JobRecord& job) {
  std::vector<const TradeoffRecord*> sorted;
  for (const TradeoffRecord& record : job.tradeoffs) sorted.push_back(&record);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto* a, const auto* b) { return a->elapsed_ns < b->elapsed_ns; });
  TextRows rows{{"assignment", "ms", "metric", "SQNR dB", "int8", "bf16", "fp32", "budget"}};
  for (const TradeoffRecord* record : sorted) {
    rows.push_back(
        {fmt::format("{}{} {}", record->chosen ? '>' : ' ', record->on_front ? '*' : ' ', printable(record->name)),
         msText(static_cast<double>(record->elapsed_ns)), fmt::format("{:.5g}", record->metric),
         fmt::format("{:.1f}", record->sqnr_db), std::to_string(record->int8_nodes), std::to_string(record->bf16_nodes),
         std::to_string(record->fp32_nodes), record->allowed ? "kept" : "broken"});
  }
  return alignedRows(rows);
}

std::string sensitivityTable(const JobRecord& job, std::size_t count) {
  std::vector<const SensitivityRecord*> sorted;
  for (const SensitivityRecord& record : job.sensitivities) sorted.push_back(&record);
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->sqnr_db < b->sqnr_db; });
  TextRows rows{{"operation", "SQNR dB alone", "fp32 ms", "int8 ms", "", ""}};
  for (const SensitivityRecord* record : sorted) {
    if (rows.size() > count) break;
    rows.push_back({printable(record->name), fmt::format("{:.1f}", record->sqnr_db),
                    fmt::format("{:.3f}", static_cast<double>(record->fp32_ns) / 1e6),
                    fmt::format("{:.3f}", static_cast<double>(record->low_ns) / 1e6), record->chosen,
                    printable(record->reason)});
  }
  return alignedRows(rows);
}

}  // namespace ipex_studio
