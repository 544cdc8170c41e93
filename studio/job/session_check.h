// Checks a model against the one that it replaces: speed in interleaved rounds, accuracy by results or by a metric.
#pragma once

#include <string>
#include <vector>

#include "studio/job/session_job.h"
#include "studio/job/speed_check.h"

namespace ipex_studio {

// Exit code of a program whose new model is slower than the old one.
constexpr ExitCode kSlower = static_cast<ExitCode>(7);

struct ModelCheck {
  SpeedCheck speed;
  double old_ms = 0, new_ms = 0;                       // medians of a forward
  std::vector<AccuracyRecord> accuracy;                // by results, the worst first; empty if a metric decides
  std::vector<MetricRecord> old_metrics, new_metrics;  // of the data
  bool accurate = true;
  std::string accuracy_text;  // what was compared, and the bound, as a clause
};

// Runs both files as they are, frozen, on this machine: the old one twice, as a control. Of `request` it uses inputs,
// data and metric, threads, and the limits of `check` and `search.max_drop`. Inputs are guessed from the old model.
// Throws Error.
ModelCheck checkModels(const CheckedModel& old_model, const CheckedModel& new_model, const JobRequest& request,
                       JobEvents& events, const Cancellation& cancellation);

// Judges metrics of the same data by how much may be lost: shares by the difference, others by the ratio. Returns what
// was compared as a clause; `pass` is set to false where too much is lost.
std::string judgeMetrics(const std::vector<MetricRecord>& before, const std::vector<MetricRecord>& after,
                         double max_drop, bool* pass);

}  // namespace ipex_studio
