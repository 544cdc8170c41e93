// See training_job.h.
#include "studio/job/training_job.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

#include "core/record/records_json.h"
#include "studio/job/outputs.h"
#include "studio/job/session_request.h"

namespace ipex_studio {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kMaxRows = 20'000;  // of steps in a record; a longer training is thinned

double weighted(double a, std::int64_t a_steps, double b, std::int64_t b_steps) {
  return (a * static_cast<double>(a_steps) + b * static_cast<double>(b_steps)) / static_cast<double>(a_steps + b_steps);
}

TrainingStep joined(const TrainingStep& a, const TrainingStep& b) {
  TrainingStep row = b;
  row.steps = a.steps + b.steps;
  for (double TrainingStep::*value :
       {&TrainingStep::loss, &TrainingStep::learning_rate, &TrainingStep::gradient_norm, &TrainingStep::accuracy})
    row.*value = weighted(a.*value, a.steps, b.*value, b.steps);
  for (std::int64_t TrainingStep::*time :
       {&TrainingStep::data_ns, &TrainingStep::forward_ns, &TrainingStep::backward_ns, &TrainingStep::update_ns})
    row.*time = static_cast<std::int64_t>(
        weighted(static_cast<double>(a.*time), a.steps, static_cast<double>(b.*time), b.steps));
  return row;
}

// Joins each two rows when there are too many.
void thin(std::vector<TrainingStep>* steps) {
  if (steps->size() <= kMaxRows) return;
  std::vector<TrainingStep> rows;
  for (std::size_t i = 0; i + 1 < steps->size(); i += 2) rows.push_back(joined((*steps)[i], (*steps)[i + 1]));
  if (steps->size() % 2 == 1) rows.push_back(steps->back());
  *steps = std::move(rows);
}

// Leaves out every second step when there are too many rows, but keeps the last one.
template <class Row>
void thinProfiles(std::vector<Row>* rows) {
  if (rows->size() <= kMaxRows) return;
  std::vector<Row> kept;
  const std::int64_t last = rows->back().step;
  std::int64_t step = -1;
  bool keep = false;
  for (Row& row : *rows) {
    if (row.step != step) keep = !keep;
    step = row.step;
    if (keep || step == last) kept.push_back(std::move(row));
  }
  *rows = std::move(kept);
}

const json& part(const json& message, const char* name) {
  const auto found = message.find(name);
  if (found == message.end()) unexpectedMessage(messageText(message, "type"));
  return *found;
}

// One training: its engine, and what is known so far.
class RunningTraining {
 public:
  RunningTraining(const TrainingFiles& files, JobRecord& job, JobEvents& events)
      : files_(files), job_(job), events_(events), export_(openExportFile(folder_)) {}

  void start(const CheckedModel& model, const JobRequest& request) {
    const std::int32_t threads =
        request.measure.threads > 0 ? request.measure.threads : std::max(1, model.machine.cores);
    if (request.train.resume) kept_ = checkModel(files_.checkpoint());
    EngineStart start = engineStart(model, request, folder_, threads);
    start.export_fd = export_.get();
    if (kept_) start.other_fd = kept_->fd.get();
    // A checkpoint holds up to three times the model, and states in FP64.
    start.limits.cpu_s = 0;  // a training may take days
    start.limits.file_bytes = std::max(start.limits.file_bytes, 16 * model.report.file_bytes);
    if (!request.train.validation_path.empty()) addReadable(request.train.validation_path, request, &start.readable);
    silence_s_ = start.limits.silence_s;
    engine_ = std::make_unique<EngineProcess>(start, never_);
    EngineJob described = engineJob(JobKind::kTrain, model, request, folder_, threads);
    described.train.validation_path = absolutePath(request.train.validation_path);
    described.other_name = kept_ ? files_.checkpoint() : "";
    job_.options = dumpJson(recordedOptions(described));
    engine_->send(toJson(described));
  }

  TrainingResult follow(const Cancellation& stop) {
    while (true) {
      const json message = next(stop);
      if (messageText(message, "type") != "result") {
        absorb(message);
        continue;
      }
      const TrainingResult result{messageInteger(message, "step", 0, kMax), messageBool(message, "finished")};
      // During the training files may have been moved.
      checkOutputs({{files_.output}, {}, true}, "");
      moveExport(export_.get(), messageInteger(message, "model_bytes", 1, kMax), files_.output);
      training_.finished = result.finished;
      publish();
      return result;
    }
  }

 private:
  static void addReadable(const std::string& path, const JobRequest& request, std::vector<std::string>* readable) {
    JobRequest other = request;
    other.data.path = path;
    const std::vector<std::string> more = readablePaths(other);
    readable->insert(readable->end(), more.begin(), more.end());
  }

  // The next message; tells the engine once if the user wants to stop.
  json next(const Cancellation& stop) {
    const auto deadline = Clock::now() + std::chrono::duration<double>(silence_s_);
    while (true) {
      if (auto message = engine_->poll()) return std::move(*message);
      if (!stopping_ && stop.requested()) {
        stopping_ = true;
        engine_->send({{"type", "stop"}});
        events_.onLog("Stopping behind this step; Ctrl-C again ends the program at once.", false);
      }
      pollfd entries[] = {{engine_->fd(), POLLIN, 0}, {stopping_ ? -1 : stop.fd(), POLLIN, 0}};
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
      if (left <= 0) {
        throw Error(ExitCode::kFailure,
                    fmt::format("The training says nothing for {:.0f} s; give a longer --timeout if a step takes so "
                                "long.",
                                silence_s_));
      }
      ::poll(entries, 2, static_cast<int>(std::min<std::int64_t>(left, 1000)));
    }
  }

  void absorb(const json& message) {
    const std::string type = messageText(message, "type");
    if (type == "progress") {
      showProgress(messageText(message, "stage", 200), std::clamp(messageNumber(message, "fraction"), 0.0, 1.0));
    } else if (type == "log") {
      events_.onLog(messageText(message, "text", 4000), messageText(message, "level", 20) == "warning");
    } else if (type == "hello") {
      job_.machine.libtorch = messageText(message, "libtorch", 100);
      job_.machine.onednn = messageText(message, "onednn", 100);
    } else if (type == "training") {
      training_ = recordFromJson<TrainingRecord>(part(message, "record"));
      publish();
    } else if (type == "steps") {
      for (const json& step : part(message, "steps")) {
        training_.steps.push_back(recordFromJson<TrainingStep>(step));
        if (training_.steps.back().steps != 1) unexpectedMessage(type);
      }
      thin(&training_.steps);
      publish();
    } else if (type == "profile") {
      for (const json& layer : part(message, "layers"))
        training_.layers.push_back(recordFromJson<TrainingLayer>(layer));
      for (const json& row : part(message, "memory")) training_.memory.push_back(recordFromJson<TrainingMemory>(row));
      thinProfiles(&training_.layers);
      thinProfiles(&training_.memory);
      publish();
    } else if (type == "fault") {
      training_.fault = messageText(message, "text", 4000);
      publish();
    } else if (type == "epoch") {
      training_.ends.push_back(recordFromJson<TrainingEpoch>(part(message, "record")));
      publish();
    } else if (type == "checkpoint") {
      keepCheckpoint(message);
    } else {
      unexpectedMessage(type);
    }
  }

  void showProgress(const std::string& stage, double fraction) {
    if (!first_fraction_ || fraction < *first_fraction_) {
      first_fraction_ = fraction;
      begin_ = Clock::now();
    }
    const double elapsed_s = std::chrono::duration<double>(Clock::now() - begin_).count();
    const double done = fraction - *first_fraction_;
    events_.onProgress(stage, fraction, done > 0 ? elapsed_s * (1 - fraction) / done : -1);
  }

  void keepCheckpoint(const json& message) {
    const std::int64_t step = messageInteger(message, "step", 0, kMax);
    try {
      moveExport(export_.get(), messageInteger(message, "model_bytes", 1, kMax), files_.checkpoint());
    } catch (const Error& problem) {
      if (messageBool(message, "last")) throw;
      events_.onLog(
          fmt::format("The checkpoint of step {} is not kept, and training goes on. {}", step, problem.what()), true);
    }
    engine_->send({{"type", "kept"}});
  }

  void publish() {
    job_.training = std::make_shared<const TrainingRecord>(training_);
    events_.onRecord(job_);
  }

  const TrainingFiles& files_;
  JobRecord& job_;
  JobEvents& events_;
  TrainingRecord training_;
  const JobFolder folder_;
  UniqueFd export_;
  std::optional<CheckedModel> kept_;
  Cancellation never_;  // the engine is asked to stop, not ended
  std::unique_ptr<EngineProcess> engine_;
  double silence_s_ = 0;
  bool stopping_ = false;
  std::optional<double> first_fraction_;
  Clock::time_point begin_;
};

}  // namespace

TrainingResult trainModel(const CheckedModel& model, const JobRequest& request, const TrainingFiles& files,
                          JobRecord& job, JobEvents& events, const Cancellation& stop) {
  checkRequest(request);
  beginJobRecord(request.command, model, &job);
  RunningTraining training(files, job, events);
  training.start(model, request);
  return training.follow(stop);
}

}  // namespace ipex_studio
