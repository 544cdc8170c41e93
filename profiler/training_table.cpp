// See training_table.h.
#include "profiler/training_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "profiler/aligned_rows.h"
#include "profiler/text.h"

namespace ipex_studio {
namespace {

std::string metricText(const std::string& metric, double value) {
  return metric == "top-1" || metric == "top-5" ? fmt::format("{} {:.2f} %", metric, 100 * value)
                                                : fmt::format("validation {} {:.4g}", printable(metric), value);
}

std::string share(double part, double whole) { return fmt::format("{:.0f} %", whole > 0 ? 100 * part / whole : 0); }

template <class Row>
std::vector<Row> ofLastStep(const std::vector<Row>& rows) {
  const auto first =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.step == rows.back().step; });
  return {first, rows.end()};
}

std::string ms(std::int64_t ns) { return msText(static_cast<double>(ns)); }

std::vector<std::string> layerRow(const TrainingLayer& layer, double whole_ns) {
  return {ellipsized(printable(layer.layer), 44),
          ms(layer.forward_ns),
          ms(layer.backward_ns),
          layer.update_ns > 0 ? ms(layer.update_ns) : "",
          share(static_cast<double>(layer.wholeNs()), whole_ns),
          layer.parameters > 0 ? fmt::format("{}", layer.parameters) : "",
          std::isfinite(layer.gradient_norm) ? fmt::format("{:.3g}", layer.gradient_norm) : "",
          megabytes(layer.kept_bytes)};
}

}  // namespace

std::vector<TrainingLayer> lastLayers(const TrainingRecord& training) { return ofLastStep(training.layers); }

std::vector<TrainingMemory> lastMemory(const TrainingRecord& training) { return ofLastStep(training.memory); }

TrainingLayer othersOf(const TrainingLayer* first, std::size_t count) {
  TrainingLayer others;
  others.layer = fmt::format("{} others", count);
  others.gradient_norm = std::numeric_limits<double>::quiet_NaN();
  for (const TrainingLayer* layer = first; layer != first + count; ++layer) {
    others.step = layer->step;
    for (std::int64_t TrainingLayer::*sum :
         {&TrainingLayer::forward_ns, &TrainingLayer::backward_ns, &TrainingLayer::update_ns,
          &TrainingLayer::parameters, &TrainingLayer::kept_bytes})
      others.*sum += layer->*sum;
    if (std::isfinite(layer->gradient_norm))
      others.gradient_norm =
          std::hypot(std::isnan(others.gradient_norm) ? 0 : others.gradient_norm, layer->gradient_norm);
  }
  return others;
}

const TrainingMemory* peakOf(const std::vector<TrainingMemory>& memory) {
  const auto most =
      std::max_element(memory.begin(), memory.end(),
                       [](const TrainingMemory& a, const TrainingMemory& b) { return a.peak_bytes < b.peak_bytes; });
  return most == memory.end() ? nullptr : &*most;
}

std::string profileText(const TrainingRecord& training) {
  constexpr std::size_t kShown = 12;
  const std::vector<TrainingLayer> layers = lastLayers(training);
  if (layers.empty()) return "";
  double whole_ns = 0;
  for (const TrainingLayer& layer : layers) whole_ns += static_cast<double>(layer.wholeNs());
  TextRows rows{{fmt::format("layers of step {}", layers.front().step), "forward ms", "backward ms", "update ms",
                 "share", "parameters", "gradient", "kept MB"}};
  for (std::size_t i = 0; i < std::min(kShown, layers.size()); ++i) rows.push_back(layerRow(layers[i], whole_ns));
  if (layers.size() > kShown) rows.push_back(layerRow(othersOf(&layers[kShown], layers.size() - kShown), whole_ns));
  std::string text = alignedRows(rows);
  const std::vector<TrainingMemory> memory = lastMemory(training);
  if (const TrainingMemory* peak = peakOf(memory)) {
    text += fmt::format("tensors of a step: {:.3g} MB at most, {:.3g} MB of it gradients, in {}{}{}\n",
                        1e-6 * static_cast<double>(peak->peak_bytes), 1e-6 * static_cast<double>(peak->gradient_bytes),
                        printable(peak->phase), peak->layer.empty() ? "" : " of ", printable(peak->layer));
  }
  return text;
}

std::string epochLine(const TrainingRecord& training, const TrainingEpoch& epoch) {
  std::string line = fmt::format("epoch {} of {}: ", epoch.epoch, training.epochs);
  line += std::isnan(epoch.loss) ? std::string("no steps") : fmt::format("loss {:.4g}", epoch.loss);
  if (!std::isnan(epoch.metric)) line += ", " + metricText(training.metric, epoch.metric);
  return line + fmt::format(", {:.1f} s", 1e-9 * static_cast<double>(epoch.elapsed_ns));
}

std::string trainingName(const TrainingSummary& training) {
  std::string text = fmt::format("training to step {}", training.steps);
  if (!std::isnan(training.value)) {
    text += ", " + metricText(training.metric, training.value);
  } else if (!std::isnan(training.loss)) {
    text += fmt::format(", loss {:.4g}", training.loss);
  }
  return text;
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
