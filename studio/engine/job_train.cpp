// Training: steps and epochs go to the studio as they are done; checkpoints and the result through the descriptor that
// the studio opened. The engine waits until a checkpoint is kept before it writes over it.
#include <fmt/format.h>
#include <unistd.h>
#include <ext/stdio_filebuf.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/model/loaded_form.h"
#include "core/record/records_json.h"
#include "core/torch/torch_error.h"
#include "core/train/training.h"
#include "studio/engine/job_data.h"
#include "studio/engine/job_inputs.h"
#include "studio/engine/jobs.h"

namespace ipex_studio {
namespace {

using nlohmann::json;

constexpr std::int64_t kSecond_ns = 1'000'000'000;
constexpr std::int64_t kReport_ns = kSecond_ns / 4;  // time between reports of steps
constexpr double kFreshShare = 0.1;                  // weight of a step in what the progress shows

// Writes to the studio's file from its beginning; returns the number of bytes. Throws Error(kFailure) if that fails.
template <class Write>
std::int64_t writeToStudio(const Write& write) {
  const auto fail = [] {
    throw Error(ExitCode::kFailure,
                "The trained model cannot be written to the folder for temporary files; make room there, or set TMPDIR "
                "to another.");
  };
  if (::ftruncate(kEngineExportFd, 0) != 0 || ::lseek(kEngineExportFd, 0, SEEK_SET) != 0) fail();
  __gnu_cxx::stdio_filebuf<char> buffer(::dup(kEngineExportFd), std::ios::out | std::ios::binary);
  std::ostream stream(&buffer);
  try {
    write(stream);
  } catch (const std::exception&) {
    fail();
  }
  stream.flush();
  if (!stream) fail();
  return ::lseek(kEngineExportFd, 0, SEEK_END);
}

// Reports to the studio, and hears from it that the training is to stop.
class TrainingReport : public TrainingWatch {
 public:
  TrainingReport(const EngineJob& job, Training& training, Channel& channel)
      : job_(job), training_(training), channel_(channel), record_(training.record()) {
    last_checkpoint_ns_ = last_report_ns_ = nowNs();
  }

  void onStep(const TrainingStep& step) override {
    steps_.push_back(toJson(step));
    show(step);
    const std::int64_t now = nowNs();
    if (now - last_report_ns_ >= kReport_ns) report(now);
    const std::int64_t every = job_.train.checkpoint_steps;
    const bool by_steps = every > 0 && step.step % every == 0;
    if (by_steps || static_cast<double>(now - last_checkpoint_ns_) >= job_.train.checkpoint_s * kSecond_ns)
      checkpoint(/*last=*/false);
  }

  void onProfile(const StepProfile& profile) override {
    TrainingRecord record;
    record.layers = profile.layers;
    record.memory = profile.memory;
    const json rows = toJson(record);
    channel_.send({{"type", "profile"}, {"layers", rows["layers"]}, {"memory", rows["memory"]}});
  }

  void onEpoch(const TrainingEpoch& epoch) override {
    report(nowNs());
    channel_.send({{"type", "epoch"}, {"record", toJson(epoch)}});
  }

  void onValidation(std::int64_t batch, std::int64_t batches) override {
    const std::int64_t now = nowNs();
    if (now - last_report_ns_ < kReport_ns && batch < batches) return;
    last_report_ns_ = now;
    channel_.progress(fmt::format("epoch {}/{}, validation, {} of {} batches", epochOf(training_.done()),
                                  record_.epochs, batch, batches),
                      fraction());
  }

  bool stops() override {
    while (channel_.hasNews()) stops_ = channel_.receive()["type"] == "stop" || stops_;
    return stops_;
  }

  // Has the studio keep the state. One that cannot be written is a warning, since the one before stands, and an error
  // if it is the `last`.
  void checkpoint(bool last) {
    report(nowNs());
    try {
      const std::int64_t bytes = writeToStudio([&](std::ostream& stream) { training_.saveCheckpoint(stream); });
      channel_.send({{"type", "checkpoint"}, {"model_bytes", bytes}, {"step", training_.done()}, {"last", last}});
      for (std::string answer; answer != "kept"; stops_ = answer == "stop" || stops_)
        answer = channel_.receive().value("type", "");
    } catch (const Error& problem) {
      if (last) throw;
      channel_.log(
          fmt::format("There is no checkpoint at step {}, and training goes on. {}", training_.done(), problem.what()),
          true);
    }
    last_checkpoint_ns_ = nowNs();
  }

 private:
  std::int64_t epochOf(std::int64_t step) const {
    return std::max<std::int64_t>(1, (step + record_.steps_per_epoch - 1) / record_.steps_per_epoch);
  }
  double fraction() const {
    return static_cast<double>(training_.done()) / static_cast<double>(std::max<std::int64_t>(1, training_.total()));
  }

  // Takes a step into the means that the progress shows.
  void show(const TrainingStep& step) {
    const double seconds =
        1e-9 * static_cast<double>(step.data_ns + step.forward_ns + step.backward_ns + step.update_ns);
    const auto mix = [&](double* mean, double value) {
      *mean = shown_ ? *mean + kFreshShare * (value - *mean) : value;
    };
    mix(&loss_, step.loss);
    mix(&accuracy_, step.accuracy);
    mix(&seconds_, seconds);
    shown_ = true;
  }

  void report(std::int64_t now) {
    last_report_ns_ = now;
    if (!steps_.empty()) channel_.send({{"type", "steps"}, {"steps", std::exchange(steps_, json::array())}});
    if (!shown_) return;
    std::string text = fmt::format("epoch {}/{}, loss {:.4g}", epochOf(training_.done()), record_.epochs, loss_);
    if (accuracy_ == accuracy_) text += fmt::format(", {:.1f} % right", 100 * accuracy_);
    text += fmt::format(", {:.0f} samples/s", static_cast<double>(record_.batch) / std::max(1e-9, seconds_));
    channel_.progress(text, fraction());
  }

  const EngineJob& job_;
  Training& training_;
  Channel& channel_;
  TrainingRecord record_;
  json steps_ = json::array();  // not sent yet
  double loss_ = 0, accuracy_ = 0, seconds_ = 0;
  bool shown_ = false, stops_ = false;
  std::int64_t last_report_ns_ = 0, last_checkpoint_ns_ = 0;
};

// The data to train on, and to judge on.
struct TrainingData {
  std::unique_ptr<DataSet> training, validation;
};

TrainingData openTrainingData(Model& model, const EngineJob& job) {
  DataSetOptions options = jobDataOptions(model, job);
  options.any_targets = true;
  options.batch = job.train.batch;
  options.for_training = true;
  TrainingData data;
  data.training = std::make_unique<DataSet>(job.data.path, options);
  std::string path = job.train.validation_path;
  if (path.empty() && hasTestFiles(job.data.path)) path = job.data.path;
  options.for_training = false;
  options.samples = 0;
  if (!path.empty()) data.validation = std::make_unique<DataSet>(path, options);
  return data;
}

TrainingOptions trainingOptions(const EngineJob& job, const JobInputs& inputs) {
  TrainingOptions options;
  options.loss = job.train.loss;
  options.optimizer = job.train.optimizer;
  options.schedule = job.train.schedule;
  options.epochs = job.train.epochs;
  options.seed = job.measure.seed;
  options.clip_norm = job.train.clip_norm;
  options.bf16 = job.optimize.precision == Precision::kBf16;
  options.profile_every = job.train.profile_every;
  options.metric = job.data.metric;
  options.arguments = [&inputs](const Inputs& values) { return inputs.withData(values); };
  return options;
}

}  // namespace

void runTrainJob(const EngineJob& job, Channel& channel) {
  channel.progress("load", 0);
  Model model = Model::load(kEngineModelPath);
  for (const std::string& note : model.notes()) {
    if (note != kTrainingModeNote) channel.log(note);
  }
  std::optional<Model> kept;
  if (job.train.resume) {
    kept = Model::load(kEngineOtherPath);
    requireSameNetwork(model.module(), kept->module(), job.other_name);
  }
  const TrainingData data = openTrainingData(model, job);
  const JobInputs inputs(model, job, namedInputs(*data.training, data.training->batch(0)));
  Training training(kept ? kept->module() : model.module(), *data.training, data.validation.get(),
                    trainingOptions(job, inputs));
  if (kept) training.resume(readTrainingState(kEngineOtherFd, job.other_name));
  for (const std::string& note : training.notes()) channel.log(note, true);
  channel.send({{"type", "training"}, {"record", toJson(training.record())}});
  TrainingReport report(job, training, channel);
  bool finished = false;
  try {
    finished = training.run(report);
  } catch (const Error&) {
    if (!training.fault().empty()) channel.send({{"type", "fault"}, {"text", training.fault()}});
    if (training.done() > 0) report.checkpoint(/*last=*/false);  // of the state before the step that failed
    throw;
  }
  if (!training.profile().layers.empty()) {
    channel.log(
        fmt::format("Where a step spends most, forward + backward: {}.", layerTimesText(training.profile().layers)));
  }
  report.checkpoint(/*last=*/true);
  const std::int64_t bytes =
      writeToStudio([&](std::ostream& stream) { training.saveModel(stream, jobPreprocess(job)); });
  channel.send({{"type", "result"}, {"model_bytes", bytes}, {"step", training.done()}, {"finished", finished}});
}

}  // namespace ipex_studio
