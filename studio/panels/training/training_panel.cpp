// Bottom tab: a training: loss, norm of gradients and learning rate over its steps, what each epoch was judged by, and
// where the time of a step goes; layers and memory of a step that was profiled.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "profiler/training_table.h"
#include "studio/panels/chart.h"
#include "studio/panels/panel.h"
#include "studio/panels/table_cells.h"
#include "studio/panels/training/layers_view.h"
#include "studio/panels/training/memory_view.h"

namespace ipex_studio {
namespace {

constexpr float kTrainingListPoints = 360;
constexpr float kTrainingSidePoints = 62;
constexpr float kTrainingAxisPoints = 24;
constexpr float kTrainingToolsPoints = 36;
constexpr float kRateShare = 0.2F;       // of the height, for the learning rate
constexpr float kNormShare = 0.24F;      // of the height, for the norm of gradients
constexpr double kSmoothedShare = 0.04;  // of the steps that the bold line is a mean over
constexpr std::size_t kOfferedTrainings = 6;

// A line over steps: {step, value}.
using Curve = std::vector<std::pair<double, double>>;

// Running mean, exponentially weighted, over about `rows` rows; values that are no numbers are left out.
Curve smoothed(const Curve& curve, double rows) {
  Curve result;
  const double weight = 1 / std::max(1.0, rows);
  double sum = 0, weights = 0;
  for (const auto& [step, value] : curve) {
    if (!std::isfinite(value)) continue;
    sum = sum * (1 - weight) + value * weight;
    weights = weights * (1 - weight) + weight;
    result.emplace_back(step, sum / weights);
  }
  return result;
}

ChartScale scaleOf(const Curve& curve, float begin, float end) {
  double low = 1e300, high = -1e300;
  for (const auto& [step, value] : curve) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) return {0, 1, begin, end, false};
  const double margin = std::max((high - low) * 0.06, std::max(std::abs(high), 1e-9) * 0.02);
  return {low >= 0 ? std::max(0.0, low - margin) : low - margin, high + margin, begin, end, false};
}

void drawCurve(const Curve& curve, const ChartScale& x, const ChartScale& y, ImU32 color, float thickness) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  std::vector<ImVec2> points;
  const auto flush = [&] {
    if (points.size() > 1)
      list->AddPolyline(points.data(), static_cast<int>(points.size()), color, ImDrawFlags_None, thickness);
    points.clear();
  };
  for (const auto& [step, value] : curve) {
    if (std::isfinite(value)) {
      points.push_back({x.at(step), y.at(value)});
    } else {
      flush();  // a gap
    }
  }
  flush();
}

// Rates are small: "0.00025" says less than "2.5e-04".
std::string rateText(double rate) { return fmt::format("{:.3g}", rate); }

bool isPercent(const TrainingRecord& training) { return training.metric == "top-1" || training.metric == "top-5"; }

std::string valueText(const TrainingRecord& training, double value) {
  if (std::isnan(value)) return "–";
  return isPercent(training) ? fmt::format("{:.1f} %", 100 * value) : fmt::format("{:.4g}", value);
}

class TrainingPanel : public Panel {
 public:
  explicit TrainingPanel(const Ui& ui) : ui_(ui), layers_(ui), memory_(ui) {}
  const char* name() const override { return "training"; }
  const char* title() const override { return "Training"; }
  PanelPlace place() const override { return PanelPlace::kBottomTab; }

  void draw(const StudioSnapshot& snapshot, Selection& selection, Commands& commands) override {
    for (const auto& [view, name] : kViews) {
      if (selection.take(fmt::format("training.{}", name))) view_ = view;
    }
    const auto& training = snapshot.job->training;
    if (training && training->steps.empty() && !training->fault.empty())
      return emptyState(ui_, "The training ended at its first step", displayText(training->fault, 400));
    if (!training || training->steps.empty()) {
      offerTrainings(snapshot, commands);
      return;
    }
    if (shown_ != snapshot.job->training) {
      shown_ = snapshot.job->training;
      collect();
    }
    drawTools();
    drawChartBesideList(
        ui_, {"facts", kTrainingListPoints, 320, {14, 12}}, [&] { drawView(selection); }, [&] { drawFacts(); });
  }

 private:
  enum class View { kCurves, kLayers, kMemory };
  static constexpr std::array<std::pair<View, const char*>, 3> kViews = {
      {{View::kCurves, "curves"}, {View::kLayers, "layers"}, {View::kMemory, "memory"}}};

  void drawTools() {
    const float top = ImGui::GetCursorPosY();
    ImGui::SetCursorPos({ui_.px(10), top + std::floor(ui_.px(3))});
    const char* const titles[] = {"Curves", "Layers of a step", "Memory of a step"};
    for (std::size_t v = 0; v < kViews.size(); ++v) {
      if (v > 0) ImGui::SameLine(0, 0);
      const bool chosen = view_ == kViews[v].first;
      if (button(ui_, kViews[v].second, titles[v], chosen ? ButtonLook::kChosen : ButtonLook::kQuiet))
        view_ = kViews[v].first;
    }
    ImGui::SetCursorPosY(top + std::floor(ui_.px(kTrainingToolsPoints)));
    hairline(ui_);
  }

  void drawView(Selection& selection) {
    if (view_ == View::kCurves) return drawCharts();
    if (shown_->layers.empty() || shown_->memory.empty()) {
      emptyState(ui_, "No step was profiled",
                 "ipex-studio train records layers and memory of the third step and of every Nth one behind it with "
                 "--profile-every N.");
      return;
    }
    view_ == View::kLayers ? layers_.draw(selection) : memory_.draw();
  }

  // What to do where this job trained nothing: a command, or trainings of the database.
  void offerTrainings(const StudioSnapshot& snapshot, Commands& commands) const {
    std::vector<std::string> texts;
    std::vector<std::int64_t> jobs;
    for (const JobSummary& job : snapshot.history->jobs) {
      if (!job.training || texts.size() == kOfferedTrainings) continue;
      texts.push_back(fmt::format("Job {}: {}", job.id, displayText(trainingName(*job.training), 60)));
      jobs.push_back(job.id);
    }
    if (texts.empty()) {
      emptyState(ui_, "This job trained nothing",
                 "ipex-studio train model.pt -o trained.pt --data PATH records a training, which is drawn here.");
      return;
    }
    const int pressed = offerState(ui_, "This job trained nothing", "The database holds trainings:", texts);
    if (pressed >= 0) commands.post(ShowJobCommand{jobs[static_cast<std::size_t>(pressed)]});
  }

  void collect() {
    loss_.clear();
    rate_.clear();
    norm_.clear();
    for (const TrainingStep& row : shown_->steps) {
      loss_.emplace_back(static_cast<double>(row.step), row.loss);
      rate_.emplace_back(static_cast<double>(row.step), row.learning_rate);
      norm_.emplace_back(static_cast<double>(row.step), row.gradient_norm);
    }
    mean_ = smoothed(loss_, kSmoothedShare * static_cast<double>(loss_.size()));
    shares_ = stepShares(*shown_);
    layers_.show(lastLayers(*shown_));
    memory_.show(lastMemory(*shown_));
  }

  void drawCharts() const {
    const ImVec2 window = ImGui::GetWindowPos();
    const ImVec2 size = ImGui::GetWindowSize();
    const float left = window.x + ui_.px(kTrainingSidePoints);
    const float right = std::max(left + 20, window.x + size.x - ui_.px(16));
    const float top = window.y + ui_.px(30);
    const float bottom = std::max(top + 40, window.y + size.y - ui_.px(kTrainingAxisPoints));
    const float rate_top = bottom - (bottom - top) * kRateShare;
    const float norm_bottom = rate_top - ui_.px(26), norm_top = norm_bottom - (bottom - top) * kNormShare;
    const float loss_bottom = norm_top - ui_.px(26);
    const double first = loss_.front().first - static_cast<double>(shown_->steps.front().steps);
    const ChartScale x{std::max(0.0, first), loss_.back().first, left, right, false};
    const ChartScale losses = scaleOf(loss_, loss_bottom, top + ui_.px(20));  // values of epochs stand above
    const ChartScale norms = {0, scaleOf(norm_, 0, 1).high, norm_bottom, norm_top, false};
    const ChartScale rates = {0, scaleOf(rate_, 0, 1).high, bottom, rate_top, false};
    drawAxisX(ui_, x, top, bottom, [](double step) { return step == std::floor(step) ? tickText(step) : ""; });
    drawAxisY(ui_, losses, left, right, tickText);
    drawAxisY(ui_, {rates.low, rates.high, rates.begin, rates.end, false}, left, right, rateText);
    drawAxisY(ui_, norms, left, right, rateText);
    chartText(ui_, {left, norm_top - ui_.px(19)}, ui_.theme.dim, "Norm of all gradients, before clipping");
    chartText(ui_, {left, window.y + ui_.px(8)}, ui_.theme.dim, "Loss by step, and its running mean");
    chartText(ui_, {left, rate_top - ui_.px(19)}, ui_.theme.dim, "Learning rate");
    drawEnds(x, top, loss_bottom);
    drawCurve(loss_, x, losses, withAlpha(ui_.theme.accent, 0.35F), ui_.scale);
    drawCurve(mean_, x, losses, ui_.theme.accent, 2 * ui_.scale);
    drawCurve(norm_, x, norms, ui_.theme.kind(KindGroup::kLinear), 1.5F * ui_.scale);
    drawCurve(rate_, x, rates, ui_.theme.kind(KindGroup::kElementwise), 1.5F * ui_.scale);
    drawHovered(x, top, bottom);
  }

  // Marks the ends of epochs, with what they were judged by.
  void drawEnds(const ChartScale& x, float top, float bottom) const {
    ImDrawList* list = ImGui::GetWindowDrawList();
    float free_from = x.begin;
    for (const TrainingEpoch& end : shown_->ends) {
      const float at = std::floor(x.at(static_cast<double>(end.step)));
      list->AddLine({at, top}, {at, bottom}, withAlpha(ui_.theme.text, 0.25F));
      if (std::isnan(end.metric)) continue;
      const std::string text = valueText(*shown_, end.metric);
      const float width = ImGui::CalcTextSize(text.c_str()).x;
      if (at - width - ui_.px(6) < free_from) continue;
      chartText(ui_, {at - ui_.px(4), top + ui_.px(2)}, ui_.theme.good, text, 1);
      free_from = at;
    }
  }

  void drawHovered(const ChartScale& x, float top, float bottom) const {
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const bool inside = mouse.x >= x.begin && mouse.x <= x.end && mouse.y >= top && mouse.y <= bottom;
    if (!ImGui::IsWindowHovered() || !inside) return;
    const auto at =
        std::lower_bound(shown_->steps.begin(), shown_->steps.end(), x.value(mouse.x),
                         [](const TrainingStep& row, double step) { return static_cast<double>(row.step) < step; });
    const TrainingStep& row = at == shown_->steps.end() ? shown_->steps.back() : *at;
    const float line = std::floor(x.at(static_cast<double>(row.step)));
    ImGui::GetWindowDrawList()->AddLine({line, top}, {line, bottom}, ui_.theme.text);
    const auto time = [](std::int64_t ns) { return formatTime(static_cast<double>(ns)); };
    tooltip(
        fmt::format("step {}\nloss {:.5g}\nlearning rate {}\ngradient norm {:.4g}\ndata {}, forward {}, backward {}, "
                    "optimizer {}",
                    row.step, row.loss, rateText(row.learning_rate), row.gradient_norm, time(row.data_ns),
                    time(row.forward_ns), time(row.backward_ns), time(row.update_ns)));
  }

  void drawFacts() const {
    const float width = ImGui::GetContentRegionAvail().x;
    const auto line = [&](const char* key, const std::string& text, ImU32 color) {
      keyValue(ui_, key, displayText(text, 80), 96, width, color);
    };
    const TrainingRecord& t = *shown_;
    drawSplit(width);
    ImGui::Dummy({0, ui_.px(4)});
    if (!t.metric.empty()) line(t.metric == "loss" ? "validation" : t.metric.c_str(), bestText(), ui_.theme.good);
    line("loss",
         fmt::format("{:.4g} at step {}", mean_.empty() ? kNotMeasured : mean_.back().second, t.steps.back().step),
         ui_.theme.text);
    line("epochs",
         fmt::format("{} of {}{}", t.ends.empty() ? 0 : t.ends.back().epoch, t.epochs,
                     t.finished ? "" : ", not finished"),
         t.finished ? ui_.theme.text : ui_.theme.warning);
    if (!t.fault.empty()) line("not finite", t.fault, ui_.theme.bad);
    if (!t.layers.empty()) line("profiled", fmt::format("step {}", t.layers.back().step), ui_.theme.text);
    line("minimizes", t.loss, ui_.theme.text);
    line("optimizer", t.optimizer, ui_.theme.text);
    line("schedule", t.schedule, ui_.theme.text);
    line("data", fmt::format("{} samples, {} a step", t.samples, t.batch), ui_.theme.text);
    line("trained", fmt::format("{} numbers in {}", t.parameters, t.precision), ui_.theme.text);
    if (t.resumed_at > 0) line("resumed", fmt::format("at step {}", t.resumed_at), ui_.theme.dim);
  }

  // The last value, and the best where that is another.
  std::string bestText() const {
    double last = kNotMeasured, best = kNotMeasured;
    std::int64_t epoch = 0;
    for (const TrainingEpoch& end : shown_->ends) {
      if (std::isnan(end.metric)) continue;
      last = end.metric;
      if (!std::isnan(best) && (shown_->higher_is_better ? end.metric <= best : end.metric >= best)) continue;
      best = end.metric;
      epoch = end.epoch;
    }
    const std::string text = valueText(*shown_, last);
    return best == last || std::isnan(best)
               ? text
               : fmt::format("{}, best {} in epoch {}", text, valueText(*shown_, best), epoch);
  }

  // The time of a step as a bar of its parts, with their names below.
  void drawSplit(float width) const {
    struct Part {
      const char* name;
      double ns;
      KindGroup group;
    };
    const std::array<Part, 4> parts = {{{"data", shares_.data_ns, KindGroup::kInputOutput},
                                        {"forward", shares_.forward_ns, KindGroup::kConvolution},
                                        {"backward", shares_.backward_ns, KindGroup::kLinear},
                                        {"optimizer", shares_.update_ns, KindGroup::kElementwise}}};
    const double total = shares_.total_ns();
    label(ui_.theme.text, fmt::format("{} a step, {:.0f} samples/s", formatTime(total),
                                      total > 0 ? 1e9 * static_cast<double>(shown_->batch) / total : 0));
    ImDrawList* list = ImGui::GetWindowDrawList();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    float from = at.x;
    for (const Part& part : parts) {
      const float to = total > 0 ? from + width * static_cast<float>(part.ns / total) : from;
      list->AddRectFilled({from, at.y}, {std::max(from, to - 1), at.y + ui_.px(12)}, ui_.theme.kind(part.group));
      from = to;
    }
    ImGui::Dummy({width, ui_.px(14)});
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i % 2 == 1) ImGui::SameLine(ImGui::GetStyle().WindowPadding.x + width / 2);
      swatch(ui_, ui_.theme.kind(parts[i].group));
      ImGui::SameLine();
      label(ui_.theme.dim, fmt::format("{} {:.0f} %", parts[i].name, total > 0 ? 100 * parts[i].ns / total : 0));
    }
  }

  const Ui& ui_;
  std::shared_ptr<const TrainingRecord> shown_;
  Curve loss_, mean_, norm_, rate_;
  StepShares shares_;
  TrainingLayersView layers_;
  TrainingMemoryView memory_;
  View view_ = View::kCurves;
};

void fillProfile(const StudioSnapshot& snapshot, PanelTable* table) {
  PanelTable layers{
      "layers",
      {"step", "layer", "forward_ms", "backward_ms", "update_ms", "parameters", "gradient_norm", "kept_mb"},
      {},
      {}};
  PanelTable memory{"memory", {"step", "at_ms", "phase", "layer", "activation_mb", "gradient_mb", "peak_mb"}, {}, {}};
  PanelTable fault{"fault", {"fault"}, {}, {}};
  if (const auto& training = snapshot.job->training) {
    for (const TrainingLayer& layer : training->layers) {
      layers.rows.push_back({whole(layer.step), layer.layer, ms(whole(layer.forward_ns)), ms(whole(layer.backward_ns)),
                             ms(whole(layer.update_ns)), whole(layer.parameters), layer.gradient_norm,
                             whole(layer.kept_bytes) / 1e6});
    }
    for (const TrainingMemory& row : training->memory) {
      memory.rows.push_back({whole(row.step), ms(whole(row.at_ns)), row.phase, row.layer,
                             whole(row.activation_bytes) / 1e6, whole(row.gradient_bytes) / 1e6,
                             whole(row.peak_bytes) / 1e6});
    }
    if (!training->fault.empty()) fault.rows.push_back({training->fault});
  }
  for (PanelTable* part : {&layers, &memory, &fault}) table->more.push_back(std::move(*part));
}

std::vector<ActionGroup> trainingActions() {
  return {{697,
           {{"training.curves", "Training: loss, gradients and learning rate over steps", ""},
            {"training.layers", "Training: layers of a step", ""},
            {"training.memory", "Training: memory over a step", ""}}}};
}

void fillTraining(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"step",    "loss",       "learning_rate", "gradient_norm", "accuracy",
                    "data_ms", "forward_ms", "backward_ms",   "update_ms"};
  PanelTable epochs{"epochs", {"epoch", "step", "loss", "metric", "value", "seconds"}, {}, {}};
  if (const auto& training = snapshot.job->training) {
    for (const TrainingStep& row : training->steps) {
      table->rows.push_back({whole(row.step), row.loss, row.learning_rate, row.gradient_norm, row.accuracy,
                             ms(whole(row.data_ns)), ms(whole(row.forward_ns)), ms(whole(row.backward_ns)),
                             ms(whole(row.update_ns))});
    }
    for (const TrainingEpoch& end : training->ends) {
      epochs.rows.push_back(
          {whole(end.epoch), whole(end.step), end.loss, training->metric, end.metric, 1e-9 * whole(end.elapsed_ns)});
    }
  }
  table->more.push_back(std::move(epochs));
  fillProfile(snapshot, table);
}

}  // namespace

extern const PanelEntry kTrainingPanel;
const PanelEntry kTrainingPanel{
    "training",   [](const Ui& ui) -> std::unique_ptr<Panel> { return std::make_unique<TrainingPanel>(ui); },
    fillTraining, "Training: loss, learning rate and times of steps",
    "",           trainingActions()};

}  // namespace ipex_studio
