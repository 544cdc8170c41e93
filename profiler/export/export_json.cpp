// The JSON of `run`, `bench` and `compare`.
#include "profiler/export/export_json.h"

#include "core/record/noise.h"
#include "core/record/records_json.h"
#include "profiler/device_comparison.h"
#include "profiler/summary.h"
#include "profiler/text.h"
#include "profiler/waterfall.h"

namespace ipex_studio {
namespace {

using nlohmann::json;

double ms(double ns) { return ns / 1e6; }

json metricsJson(const RunRecord& run) {
  json metrics = json::array();
  for (const MetricRecord& metric : run.metrics)
    metrics.push_back({{"name", metric.name}, {"value", metric.value}, {"samples", metric.samples}});
  return metrics;
}

// The level is null where it is unknown.
json noiseJson(const NoiseVerdict& noise) {
  const bool known = noise.level != NoiseLevel::kUnknown;
  return {{"level", known ? json(noiseName(noise.level)) : json()}, {"text", noiseSentence(noise)}};
}

// Null for a run that was not compared with anything, as the baseline.
json accuracyJson(const AccuracyRecord& accuracy) {
  if (accuracy.reference.empty()) return nullptr;
  return {{"max_abs", accuracy.max_abs},
          {"max_rel", accuracy.max_rel},
          {"sqnr_db", accuracy.sqnr_db},
          {"cosine", accuracy.cosine},
          {"pass", accuracy.pass}};
}

json runJson(const RunRecord& run) {
  const LatencyStats stats = latencyStats(run.latency_ns);
  return {{"variant", run.variant},
          {"device", run.device},
          {"precision", run.precision},
          {"threads", run.threads},
          {"instances", run.instances},
          {"latency_ms",
           {{"min", ms(stats.min_ns)},
            {"mean", ms(stats.mean_ns)},
            {"p50", ms(stats.p50_ns)},
            {"p90", ms(stats.p90_ns)},
            {"p95", ms(stats.p95_ns)},
            {"p99", ms(stats.p99_ns)},
            {"max", ms(stats.max_ns)}}},
          {"throughput_per_s", stats.mean_ns > 0 ? run.instances * 1e9 / stats.mean_ns : 0.0},
          {"compile_ms", ms(static_cast<double>(run.compile_ns))},
          {"tune_ms", ms(static_cast<double>(run.tune_ns))},
          {"first_run_ms", ms(static_cast<double>(run.first_run_ns))},
          {"peak_rss_mb", static_cast<double>(run.peak_rss_bytes) / 1e6},
          {"accuracy", accuracyJson(run.accuracy)},
          {"metrics", metricsJson(run)},
          {"export_mb", static_cast<double>(run.export_bytes) / 1e6},
          {"coverage", {{"nodes", run.coverage.nodes}, {"time", run.coverage.time}}},
          {"noise", noiseJson(judgeNoise(run))}};
}

// Null where the steps of both runs were not timed.
json waterfallJson(const Waterfall& waterfall) {
  if (waterfall.bars.empty()) return nullptr;
  const auto gain = [](std::int64_t ns) { return ms(static_cast<double>(ns)); };
  json bars = json::array();
  for (const WaterfallBar& bar : waterfall.bars) {
    json parts = json::array();
    for (const WaterfallPart& part : bar.parts)
      parts.push_back({{"name", part.name}, {"gain_ms", gain(part.gain_ns)}, {"origins", part.origins}});
    bars.push_back(
        {{"cause", causeName(bar.cause)},
         {"gain_ms", gain(bar.gain_ns)},
         {"gain_ci95", {gain(bar.gain_ns) - ms(bar.half_width_ns), gain(bar.gain_ns) + ms(bar.half_width_ns)}},
         {"parts", std::move(parts)}});
  }
  return {{"before_ms", gain(waterfall.before_ns)},
          {"after_ms", gain(waterfall.after_ns)},
          {"gain_ms", gain(waterfall.before_ns - waterfall.after_ns)},
          {"gain_ci95", {ms(waterfall.gain_low_ns), ms(waterfall.gain_high_ns)}},
          {"bars", std::move(bars)}};
}

json summaryJson(const RunSummary& run) {
  return {{"run", run.id},
          {"model", run.model_path},
          {"sha256", run.sha256},
          {"cpu", run.cpu},
          {"isa", run.isa},
          {"variant", run.variant},
          {"device", run.device},
          {"precision", run.precision},
          {"threads", run.threads},
          {"instances", run.instances},
          {"samples", run.samples},
          {"p50_ms", ms(static_cast<double>(run.p50_ns))},
          {"noise", noiseJson(run.noise)}};
}

}  // namespace

json benchJson(const JobRecord& job) {
  const MachineFacts& machine = job.machine;
  json runs = json::array();
  for (const RunRecord& run : job.runs) runs.push_back(runJson(run));
  json result = {{"schema", 1},
                 {"model", {{"path", job.model.path}, {"sha256", job.model.sha256}, {"nodes", job.model.nodes}}},
                 {"machine",
                  {{"cpu", machine.cpu},
                   {"isa", machine.isa},
                   {"cores", machine.cores},
                   {"threads", job.runs.empty() ? 0 : job.runs.front().threads},
                   {"libtorch", machine.libtorch},
                   {"onednn", machine.onednn}}},
                 {"runs", std::move(runs)},
                 {"speedup_p50", nullptr},
                 {"speedup_ci95", nullptr},
                 {"waterfall", waterfallJson(waterfallOf(job))},
                 {"noise", noiseJson(judgeNoise(job))}};
  const Interval speedup = speedupOf(job);
  if (speedup.value > 0) {
    result["speedup_p50"] = speedup.value;
    result["speedup_ci95"] = {speedup.low, speedup.high};
  }
  for (const DeviceComparison& comparison : compareDevices(job)) result["devices"].push_back(toJson(comparison));
  if (job.training) result["training"] = toJson(*job.training);
  if (!job.sensitivities.empty()) {
    result["sensitivities"] = json::array();
    for (const SensitivityRecord& record : job.sensitivities) result["sensitivities"].push_back(toJson(record));
  }
  if (!job.tradeoffs.empty()) {
    result["tradeoffs"] = json::array();
    for (const TradeoffRecord& record : job.tradeoffs) result["tradeoffs"].push_back(toJson(record));
  }
  return result;
}

json jobsJson(const std::vector<JobSummary>& jobs) {
  json list = json::array();
  for (const JobSummary& job : jobs) {
    json runs = json::array();
    for (const RunSummary& run : job.runs) runs.push_back(summaryJson(run));
    json training = nullptr;
    if (job.training) {
      const TrainingSummary& t = *job.training;
      training = {
          {"precision", t.precision}, {"threads", t.threads},   {"epochs", t.epochs},
          {"steps", t.steps},         {"finished", t.finished}, {"loss", t.loss},
          {"metric", t.metric},       {"value", t.value},       {"step_ms", ms(static_cast<double>(t.step_ns))}};
    }
    list.push_back({{"job", job.id},
                    {"recorded", dateText(job.started_unix_ns)},
                    {"command", job.command},
                    {"model", job.model_path},
                    {"sha256", job.sha256},
                    {"name", job.name},
                    {"pinned", job.pinned},
                    {"model_name", job.model_name},
                    {"model_pinned", job.model_pinned},
                    {"runs", std::move(runs)},
                    {"training", std::move(training)}});
  }
  return {{"schema", 1}, {"jobs", std::move(list)}};
}

json comparisonJson(const RunComparison& comparison) {
  json rows = json::array();
  for (const ComparedRow& row : comparison.rows) {
    rows.push_back({{"name", row.name},
                    {"kind", row.kind},
                    {"kernels_a", row.a_kernels},
                    {"kernels_b", row.b_kernels},
                    {"steps_a", row.steps_a},
                    {"steps_b", row.steps_b},
                    {"a_ms", ms(static_cast<double>(row.a_ns))},
                    {"b_ms", ms(static_cast<double>(row.b_ns))},
                    {"delta_ms", ms(static_cast<double>(row.delta_ns()))}});
  }
  return {
      {"schema", 1},
      {"a", summaryJson(comparison.a)},
      {"b", summaryJson(comparison.b)},
      {"same_model", comparison.same_model},
      {"same_machine", comparison.same_machine},
      {"ratio_p50", comparison.ratio.value},
      {"ratio_ci95", {comparison.ratio.low, comparison.ratio.high}},
      {"noise", noiseJson(worseNoise(comparison.a.noise, comparison.b.noise))},
      {"unattributed_ms",
       {ms(static_cast<double>(comparison.a_unattributed_ns)), ms(static_cast<double>(comparison.b_unattributed_ns))}},
      {"rows", std::move(rows)}};
}

}  // namespace ipex_studio
