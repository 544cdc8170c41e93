// See training_table.h.
#include "profiler/training_table.h"

#include <fmt/format.h>

#include <cmath>

#include "profiler/text.h"

namespace ipex_studio {
namespace {

std::string metricText(const std::string& metric, double value) {
  return metric == "top-1" || metric == "top-5" ? fmt::format("{} {:.2f} %", metric, 100 * value)
                                                : fmt::format("validation {} {:.4g}", printable(metric), value);
}

std::string share(double part, double whole) { return fmt::format("{:.0f} %", whole > 0 ? 100 * part / whole : 0); }

}  // namespace

std::string epochLine(const TrainingRecord& training, const TrainingEpoch& epoch) {
  std::string line = fmt::format("epoch {} of {}: ", epoch.epoch, training.epochs);
  line += std::isnan(epoch.loss) ? std::string("no steps") : fmt::format("loss {:.4g}", epoch.loss);
  if (!std::isnan(epoch.metric)) line += ", " + metricText(training.metric, epoch.metric);
  return line + fmt::format(", {:.1f} s", 1e-9 * static_cast<double>(epoch.elapsed_ns));
}

std::string trainingName(const TrainingSummary& training) {
  return fmt::format("training to step {}, {}", training.steps,
                     std::isnan(training.value) ? fmt::format("loss {:.4g}", training.loss)
                                                : metricText(training.metric, training.value));
}

StepShares stepShares(const TrainingRecord& training) {
  StepShares shares;
  double steps = 0;
  const bool warm = training.steps.size() > 1;
  for (std::size_t i = warm ? 1 : 0; i < training.steps.size(); ++i) {
    const TrainingStep& row = training.steps[i];
    const auto weight = static_cast<double>(row.steps);
    shares.data_ns += weight * static_cast<double>(row.data_ns);
    shares.forward_ns += weight * static_cast<double>(row.forward_ns);
    shares.backward_ns += weight * static_cast<double>(row.backward_ns);
    shares.update_ns += weight * static_cast<double>(row.update_ns);
    steps += weight;
  }
  if (steps == 0) return shares;
  for (double* part : {&shares.data_ns, &shares.forward_ns, &shares.backward_ns, &shares.update_ns}) *part /= steps;
  return shares;
}

std::string trainingLine(const JobRecord& job) {
  const TrainingRecord& t = *job.training;
  return fmt::format("{} · {} parameters · {} samples, {} a step · {}, {}, {} · {} · {} thread{}",
                     printable(fileName(job.model.path)), t.parameters, t.samples, t.batch, printable(t.loss),
                     printable(t.optimizer), printable(t.schedule), t.precision, t.threads, t.threads == 1 ? "" : "s");
}

std::string stepLine(const TrainingRecord& training) {
  if (training.steps.empty()) return "";
  const StepShares shares = stepShares(training);
  const double total = shares.total_ns();
  return fmt::format("a step takes {:.2f} ms: data {}, forward {}, backward {}, optimizer {}; {:.0f} samples/s",
                     1e-6 * total, share(shares.data_ns, total), share(shares.forward_ns, total),
                     share(shares.backward_ns, total), share(shares.update_ns, total),
                     total > 0 ? 1e9 * static_cast<double>(training.batch) / total : 0);
}

}  // namespace ipex_studio
