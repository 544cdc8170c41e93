// The engines of a check, and the judgement of metrics.
#include "studio/job/session_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "core/record/records_json.h"
#include "core/runtime/machine_facts.h"
#include "studio/job/session_request.h"

namespace ipex_studio {
namespace {

using nlohmann::json;
using CheckClock = std::chrono::steady_clock;

// Rounds must be many, turns long enough for a few forwards.
constexpr double kCheckTurn_s = 0.1, kCheckWarmup_s = 0.3;

class EngineRounds : public RoundSource {
 public:
  EngineRounds(const CheckedModel& old_model, const CheckedModel& new_model, const JobRequest& request,
               JobEvents& events, const Cancellation& cancellation)
      : models_{&old_model, &new_model, &old_model}, request_(request), events_(events), cancellation_(cancellation) {
    restart();
    // What loading takes is not taken from the rounds.
    end_ = CheckClock::now() +
           std::chrono::duration_cast<CheckClock::duration>(std::chrono::duration<double>(request.check.time_s));
  }

  void restart() override {
    for (auto& engine : engines_) engine.reset();
    for (std::size_t side = 0; side < engines_.size(); ++side) start(side);
    for (std::size_t side = 0; side < engines_.size(); ++side) turn(side, -1, kCheckWarmup_s);
    for (auto& samples : samples_) samples.clear();
  }

  std::vector<std::int64_t> take(CheckSide side, int round) override {
    events_.onProgress("measure", std::min(0.9, 0.2 + 0.01 * round), secondsLeft());
    const auto place = static_cast<std::size_t>(side);
    std::vector<std::int64_t> taken = turn(place, round, kCheckTurn_s);
    samples_[place].insert(samples_[place].end(), taken.begin(), taken.end());
    return taken;
  }

  double secondsLeft() override { return std::chrono::duration<double>(end_ - CheckClock::now()).count(); }

  double medianMs(CheckSide side) const {
    return static_cast<double>(median(samples_[static_cast<std::size_t>(side)])) / 1e6;
  }

  // Metrics of a side on the data; its engine ends.
  std::vector<MetricRecord> metrics(CheckSide side) {
    FinishRequest finish;
    finish.evaluate = true;
    EngineProcess& engine = *engines_[static_cast<std::size_t>(side)];
    engine.send(toJson(finish));
    const json result = await(engine, "result");
    const auto record = result.find("record");
    if (record == result.end()) unexpectedMessage("result");
    return recordFromJson<RunRecord>(*record).metrics;
  }

  // Inputs of forward as the old model has them, for an engine that cannot guess.
  const std::vector<std::string>& inputs() const { return inputs_; }

 private:
  std::int32_t threads() const { return request_.measure.threads > 0 ? request_.measure.threads : usableCores(); }

  void start(std::size_t side) {
    const CheckedModel& model = *models_[side];
    engines_[side] = std::make_unique<EngineProcess>(engineStart(model, request_, folder_, threads()), cancellation_);
    EngineJob job = engineJob(JobKind::kBaseline, model, request_, folder_, threads());
    if (side != 0 && job.inputs_path.empty() && job.data.path.empty()) job.inputs = inputs_;
    engines_[side]->send(toJson(job));
    await(*engines_[side], "ready");
  }

  std::vector<std::int64_t> turn(std::size_t side, int round, double seconds) {
    std::this_thread::sleep_for(kTurnPause);
    engines_[side]->send(toJson(Turn{round, seconds, 0}));
    RoundResult result = turnResultFromJson(await(*engines_[side], "samples"));
    if (result.latency_ns.empty()) unexpectedMessage("samples");
    return std::move(result.latency_ns);
  }

  json await(EngineProcess& engine, const char* type) {
    while (true) {
      json message = engine.receive();
      const std::string got = messageText(message, "type");
      if (got == type) return message;
      if (got == "progress") {
        events_.onProgress(messageText(message, "stage", 200), 0.1, -1);
      } else if (got == "log") {
        events_.onLog(messageText(message, "text", 4000), messageText(message, "level", 20) == "warning");
      } else if (got == "model" && inputs_.empty()) {
        const auto record = message.find("record");
        if (record == message.end()) unexpectedMessage("model");
        for (const InputRecord& input : recordFromJson<ModelRecord>(*record).inputs)
          inputs_.push_back(inputText(input));
      }
    }
  }

  std::array<const CheckedModel*, 3> models_;  // by CheckSide
  const JobRequest& request_;
  JobEvents& events_;
  const Cancellation& cancellation_;
  JobFolder folder_;
  std::array<std::unique_ptr<EngineProcess>, 3> engines_;
  std::array<std::vector<std::int64_t>, 3> samples_;  // of the engines that run now
  std::vector<std::string> inputs_;
  CheckClock::time_point end_ = CheckClock::time_point::max();
};

}  // namespace

std::string judgeMetrics(const std::vector<MetricRecord>& before, const std::vector<MetricRecord>& after,
                         double max_drop, bool* pass) {
  std::string text;
  for (const MetricRecord& was : before) {
    const auto is = std::find_if(after.begin(), after.end(), [&](const MetricRecord& m) { return m.name == was.name; });
    if (is == after.end()) continue;
    const double lost = was.higher_is_better ? was.value - is->value : is->value - was.value;
    // Shares lie in 0..1; others, such as mse, are judged by their own size.
    const double scale = was.higher_is_better && std::abs(was.value) <= 1 ? 1 : std::abs(was.value);
    const bool holds = lost <= max_drop * scale;
    *pass = *pass && holds;
    text += fmt::format("{}{} {:.6g}, was {:.6g}{}", text.empty() ? "" : "; ", was.name, is->value, was.value,
                        holds ? "" : fmt::format(": more than {:g} lost", max_drop));
  }
  return text;
}

ModelCheck checkModels(const CheckedModel& old_model, const CheckedModel& new_model, const JobRequest& request,
                       JobEvents& events, const Cancellation& cancellation) {
  checkRequest(request);
  ModelCheck check;
  EngineRounds rounds(old_model, new_model, request, events, cancellation);
  check.speed = checkSpeed(rounds, request.check.max_slowdown);
  check.old_ms = rounds.medianMs(CheckSide::kOld);
  check.new_ms = rounds.medianMs(CheckSide::kNew);
  if (!request.data.path.empty()) {
    check.old_metrics = rounds.metrics(CheckSide::kOld);
    check.new_metrics = rounds.metrics(CheckSide::kNew);
    check.accuracy_text = judgeMetrics(check.old_metrics, check.new_metrics, request.search.max_drop, &check.accurate);
    if (!check.accuracy_text.empty()) return check;
  }
  JobRequest compared = request;
  compared.data = DataRequest();
  if (compared.inputs_path.empty() && compared.inputs.empty()) compared.inputs = rounds.inputs();
  check.accuracy = verifyFiles(old_model, new_model, compared, events, cancellation).records;
  const AccuracyRecord& worst = check.accuracy.front();
  check.accurate = worst.pass;
  check.accuracy_text = fmt::format("cosine {:.6f}, {:.1f} dB; {}", worst.cosine, worst.sqnr_db, worst.text);
  return check;
}

}  // namespace ipex_studio
