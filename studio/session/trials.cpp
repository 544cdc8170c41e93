// See trials.h.
#include "studio/session/trials.h"

#include <fmt/format.h>

#include <utility>

#include "profiler/statistics.h"

namespace ipex_studio {
namespace {

// The trial that a job measured; the job has both runs, the older first.
WhatIf whatIfOf(const JobRecord& job) {
  const RunRecord& before = job.runs.front();
  const RunRecord& after = job.runs.back();
  const Interval ratio = medianRatio({after.latency_ns, after.turn}, {before.latency_ns, before.turn});
  WhatIf result;
  result.before_ns = static_cast<double>(median(before.latency_ns));
  result.after_ns = static_cast<double>(median(after.latency_ns));
  result.delta_ns = (ratio.value - 1) * result.before_ns;
  result.delta_low_ns = (ratio.low - 1) * result.before_ns;
  result.delta_high_ns = (ratio.high - 1) * result.before_ns;
  result.before_db = before.accuracy.sqnr_db;
  result.after_db = after.accuracy.sqnr_db;
  result.accurate = after.accuracy.pass;
  result.noise = judgeNoise(job);
  return result;
}

}  // namespace

std::optional<EarlierSearch> Trials::read(const Database& database, const JobRecord& job, const std::string& base) {
  if (job.runs.empty()) return std::nullopt;
  const RunRecord& run = job.runs.back();
  const std::string conditions = fmt::format("{} {} {} {} {} {}", job.model.sha256, job.machine.cpu, job.machine.isa,
                                             run.threads, run.instances, base);
  if (conditions == conditions_) return std::nullopt;
  conditions_ = conditions;
  TriedBefore before = database.tried(job.model.sha256, job.machine, run.threads, run.instances);
  sensitivities_ = std::move(before.sensitivities);
  tradeoffs_ = std::move(before.tradeoffs);
  tries_.clear();
  for (const JobRecord& what_if : before.what_ifs) add(what_if, overridesFrom(what_if.decisions, base));
  return EarlierSearch{std::move(before.options), before.started_unix_ns};
}

void Trials::add(const JobRecord& what_if, const Overrides& decisions) {
  WhatIf result = whatIfOf(what_if);
  result.tried = decisions;
  tries_.push_back(std::move(result));
}

void Trials::addSearch(JobRecord* job) const {
  if (!job->tradeoffs.empty()) return;
  job->tradeoffs = tradeoffs_;
  job->sensitivities = sensitivities_;
}

}  // namespace ipex_studio
