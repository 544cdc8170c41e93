// Prepares an engine for each precision and batch size, then measures all points by turns.
#include "studio/curves/measure_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <thread>
#include <utility>

#include "core/record/noise.h"
#include "core/record/records_json.h"
#include "core/runtime/machine_load.h"
#include "profiler/statistics.h"
#include "studio/curves/curve_points.h"
#include "studio/job/session_request.h"
#include "studio/protocol/protocol.h"

namespace ipex_studio {
namespace {

using nlohmann::json;
using CurvesClock = std::chrono::steady_clock;

constexpr int kMaxCurveRepeats = 3;     // of a turn that the window disturbed
constexpr double kPrepareEnd = 0.5;     // on the progress bar
constexpr double kShareOfMemory = 0.5;  // that all engines may take together
constexpr std::int64_t kMaxCount = std::numeric_limits<std::int64_t>::max();

// A batch size that the model takes, with its inputs.
struct TakenSize {
  std::int64_t size = 1;
  std::vector<std::string> inputs;  // empty: as given
};

// Measurements of one engine at one split until now.
struct PointSamples {
  RunRecord run;  // samples and noise, for the verdict on the machine
  std::vector<double> rate_per_s;
  std::int64_t wall_ns = 0, cpu_ns = 0;
  std::int64_t memory_bytes = 0;
};

// The engine of one precision and batch size.
struct CurveEngine {
  Precision precision = Precision::kFp32;
  TakenSize batch;
  std::unique_ptr<EngineProcess> process;
  AccuracyRecord accuracy;
  std::vector<PointSamples> points;  // by split
};

class CurvesMeasurement {
 public:
  CurvesMeasurement(const CheckedModel& model, const JobRequest& request, MemoryTuningStore& tuning, JobEvents& events,
                    const Cancellation& cancellation, const std::function<void(const CurvesRecord&)>& changed)
      : model_(model),
        request_(request),
        tuning_(tuning),
        events_(events),
        cancellation_(cancellation),
        changed_(changed) {}

  MeasuredCurves run() {
    const std::vector<Precision> precisions = curvePrecisions(request_);
    describeJob();
    findSizes();
    prepareAll(precisions);
    measureAll();
    publish();
    return std::move(result_);
  }

 private:
  std::int32_t cores() const { return std::max(1, model_.machine.cores); }
  std::int32_t mostThreads() const {
    std::int32_t most = 1;
    for (const CoreSplit& split : splits_) most = std::max(most, split.threads);
    return most;
  }

  void describeJob();
  void findSizes();
  void prepareAll(const std::vector<Precision>& precisions);
  bool fitsMemory(std::size_t engines) const;
  void prepare(CurveEngine& engine);
  void judge(CurveEngine& engine);
  void warmUp(CurveEngine& engine);
  void measureAll();
  void takeTurn(CurveEngine& engine, std::size_t split, int round, double seconds);
  bool roundsAreOver(int round, double elapsed_s) const;
  void publish();
  CurvePoint pointOf(const CurveEngine& engine, std::size_t split) const;
  void note(std::string sentence) { result_.curves.notes.push_back(std::move(sentence)); }
  void progress(const std::string& stage, double fraction);
  json await(EngineProcess& engine, const char* type);
  JobRequest requestOf(const CurveEngine& engine) const;

  const CheckedModel& model_;
  const JobRequest& request_;
  MemoryTuningStore& tuning_;
  JobEvents& events_;
  const Cancellation& cancellation_;
  const std::function<void(const CurvesRecord&)>& changed_;

  JobFolder folder_;
  MeasuredCurves result_;
  std::vector<TakenSize> sizes_;
  std::vector<CoreSplit> splits_;
  std::vector<std::unique_ptr<CurveEngine>> engines_;
  double stage_begin_ = 0, stage_end_ = 1;  // range of the progress bar that an engine's progress fills
  const CurvesClock::time_point started_ = CurvesClock::now();
};

void CurvesMeasurement::progress(const std::string& stage, double fraction) {
  const double elapsed_s = std::chrono::duration<double>(CurvesClock::now() - started_).count();
  events_.onProgress(stage, fraction, fraction > 0.1 ? elapsed_s * (1 - fraction) / fraction : -1);
}

// Waits for a message of this type; what an engine says meanwhile is shown or kept.
json CurvesMeasurement::await(EngineProcess& engine, const char* type) {
  while (true) {
    json message = engine.receive();
    const std::string got = messageText(message, "type");
    if (got == type) return message;
    if (got == "progress") {
      const double fraction = std::clamp(messageNumber(message, "fraction"), 0.0, 1.0);
      progress(messageText(message, "stage", 200), stage_begin_ + fraction * (stage_end_ - stage_begin_));
    } else if (got == "log" && engines_.size() < 2) {  // each engine says the same of the model
      events_.onLog(messageText(message, "text", 4000), messageText(message, "level", 20) == "warning");
    } else if (got == "tuning") {
      tuning_.read(message);
    } else if (got == "hello") {
      result_.job.machine.libtorch = messageText(message, "libtorch", 100);
      result_.job.machine.onednn = messageText(message, "onednn", 100);
    }
  }
}

void CurvesMeasurement::describeJob() {
  JobRecord& job = result_.job;
  beginJobRecord("curves", model_, &job);
  json options = recordedOptions(engineJob(JobKind::kOptimize, model_, request_, folder_, cores()));
  options["optimize"].erase("tuning_record");
  job.options = dumpJson(options);
  result_.curves.started_unix_ns = job.started_unix_ns;
}

// Asks an engine which batch sizes the model takes, and chooses the splits.
void CurvesMeasurement::findSizes() {
  stage_end_ = 0.05;
  EngineProcess engine(engineStart(model_, request_, folder_, cores()), cancellation_);
  EngineJob job = engineJob(JobKind::kBatchSizes, model_, request_, folder_, cores());
  engine.send(toJson(job));
  const json answer = await(engine, "result");
  const auto record = answer.find("record");
  if (record == answer.end()) unexpectedMessage("result");
  result_.job.model.inputs = recordFromJson<ModelRecord>(*record).inputs;
  const auto sizes = answer.find("sizes");
  if (sizes == answer.end() || !sizes->is_array()) unexpectedMessage("result");
  std::vector<std::int64_t> refused;
  std::string why;  // of the first of them
  for (const json& size : *sizes) {
    const std::int64_t count = messageInteger(size, "size", 1, 1 << 30);
    const std::string problem = messageText(size, "problem", 2000);
    if (!problem.empty()) {
      if (refused.empty()) why = problem;
      refused.push_back(count);
    } else {
      sizes_.push_back({count, messageTexts(size, "inputs")});
    }
  }
  if (!refused.empty()) note(fmt::format("Left out: batch {}, as {}.", fmt::join(refused, ", "), why));
  const std::string remark = messageText(answer, "remark", 2000);
  if (!remark.empty()) note(remark);
  splits_ = coreSplits(request_.curves, cores(), messageBool(answer, "stateful"), &result_.curves.notes);
  if (sizes_.empty() || splits_.empty()) {
    throw Error(ExitCode::kUsage,
                fmt::format("No point is left to measure: {}",
                            result_.curves.notes.empty() ? "the lists are empty." : result_.curves.notes.front()));
  }
}

JobRequest CurvesMeasurement::requestOf(const CurveEngine& engine) const {
  JobRequest request = request_;
  request.optimize.precision = engine.precision;
  if (engine.precision != Precision::kInt8) request.optimize.quantization_recipe.clear();
  if (!engine.batch.inputs.empty()) request.inputs = engine.batch.inputs;
  // Kernels that an engine before this one has timed are not timed again.
  if (!tuning_.empty() && request.optimize.tune != TuneMode::kOff) {
    MemoryTuningStore known;
    known.readText(request.optimize.tuning_record);
    known.read(tuning_.toJson(false));
    request.optimize.tuning_record = dumpJson(known.toJson(false));
  }
  return request;
}

void CurvesMeasurement::prepareAll(const std::vector<Precision>& precisions) {
  std::vector<std::pair<Precision, TakenSize>> wanted;
  for (const Precision precision : precisions) {
    for (const TakenSize& size : sizes_) wanted.emplace_back(precision, size);
  }
  for (std::size_t w = 0; w < wanted.size(); ++w) {
    const std::string what = fmt::format("{} at batch {}", precisionName(wanted[w].first), wanted[w].second.size);
    if (!fitsMemory(engines_.size() + 1)) {
      note(fmt::format("{} is left out: all engines together would take more than half of the memory.", what));
      continue;
    }
    stage_begin_ = 0.05 + (kPrepareEnd - 0.05) * static_cast<double>(w) / static_cast<double>(wanted.size());
    stage_end_ = 0.05 + (kPrepareEnd - 0.05) * static_cast<double>(w + 1) / static_cast<double>(wanted.size());
    progress("prepare " + what, stage_begin_);
    auto engine = std::make_unique<CurveEngine>();
    engine->precision = wanted[w].first;
    engine->batch = wanted[w].second;
    try {
      prepare(*engine);
      engines_.push_back(std::move(engine));
    } catch (const Error& error) {
      if (error.code() == kInterrupted || (engines_.empty() && w + 1 == wanted.size())) throw;
      note(fmt::format("{} is left out: {}", what, error.what()));
    }
  }
}

// True if there is memory for so many engines like those that were prepared.
bool CurvesMeasurement::fitsMemory(std::size_t engines) const {
  std::int64_t most = 0;
  for (const auto& engine : engines_) {
    for (const PointSamples& point : engine->points) most = std::max(most, point.memory_bytes);
  }
  return static_cast<double>(most) * static_cast<double>(engines) <=
         kShareOfMemory * static_cast<double>(model_.machine.memory_bytes);
}

// Starts an engine, optimizes, runs each split once, which makes its plans, and compares results.
void CurvesMeasurement::prepare(CurveEngine& engine) {
  const JobRequest request = requestOf(engine);
  engine.process = std::make_unique<EngineProcess>(engineStart(model_, request, folder_, mostThreads()), cancellation_);
  engine.process->send(toJson(engineJob(JobKind::kOptimize, model_, request, folder_, mostThreads())));
  await(*engine.process, "ready");
  warmUp(engine);
  const auto judged = std::find_if(engines_.begin(), engines_.end(),
                                   [&](const auto& other) { return other->precision == engine.precision; });
  if (judged == engines_.end()) return judge(engine);
  engine.accuracy = (*judged)->accuracy;  // other inputs and sizes were compared there, too
}

void CurvesMeasurement::judge(CurveEngine& engine) {
  FinishRequest request;
  request.stay = true;
  engine.process->send(toJson(request));
  const json answer = await(*engine.process, "result");
  const auto record = answer.find("record");
  if (record == answer.end()) unexpectedMessage("result");
  engine.accuracy = recordFromJson<RunRecord>(*record).accuracy;
}

void CurvesMeasurement::warmUp(CurveEngine& engine) {
  engine.points.resize(splits_.size());
  for (std::size_t s = 0; s < splits_.size(); ++s) {
    engine.process->send(toJson(Turn{-1, 0, splits_[s].instances, splits_[s].threads, splits_[s].instances}));
    const RoundResult result = turnResultFromJson(await(*engine.process, "samples"));
    engine.points[s].memory_bytes = result.memory_bytes;
    engine.points[s].run.threads = splits_[s].threads;
    engine.points[s].run.instances = splits_[s].instances;
  }
}

void CurvesMeasurement::takeTurn(CurveEngine& engine, std::size_t split, int round, double seconds) {
  PointSamples& point = engine.points[split];
  for (int attempt = 0;; ++attempt) {
    std::this_thread::sleep_for(kTurnPause);
    events_.onTimed(true);
    engine.process->send(toJson(Turn{round, seconds, 0, splits_[split].threads, splits_[split].instances}));
    RoundResult result = turnResultFromJson(await(*engine.process, "samples"));
    events_.onTimed(false);
    if (result.latency_ns.empty() || result.wall_ns <= 0) unexpectedMessage("samples");
    const auto begin = static_cast<double>(result.begin_ns);
    const bool disturbed =
        model_.worker.empty() && events_.disturbed(begin, begin + static_cast<double>(result.wall_ns));
    if (disturbed && attempt < kMaxCurveRepeats) continue;
    point.rate_per_s.push_back(static_cast<double>(result.latency_ns.size()) * 1e9 /
                               static_cast<double>(result.wall_ns));
    point.run.latency_ns.insert(point.run.latency_ns.end(), result.latency_ns.begin(), result.latency_ns.end());
    point.wall_ns += result.wall_ns;
    point.cpu_ns += result.cpu_ns;
    addNoise(result.noise, &point.run.noise);
    return;
  }
}

bool CurvesMeasurement::roundsAreOver(int round, double elapsed_s) const {
  constexpr int kEnough = 3;  // rounds, below which the time does not end them
  const CurveRounds plan = curveRounds(request_.curves.time_s, engines_.size() * splits_.size());
  return round >= plan.rounds || (round >= kEnough && elapsed_s > request_.curves.time_s);
}

void CurvesMeasurement::measureAll() {
  std::vector<std::pair<CurveEngine*, std::size_t>> points;
  for (const auto& engine : engines_) {
    for (std::size_t s = 0; s < splits_.size(); ++s) points.emplace_back(engine.get(), s);
  }
  const CurveRounds plan = curveRounds(request_.curves.time_s, points.size());
  const CurvesClock::time_point begin = CurvesClock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(CurvesClock::now() - begin).count(); };
  int round = 0;
  try {
    for (; !roundsAreOver(round, elapsed()); ++round) {
      for (std::size_t p = 0; p < points.size(); ++p) {
        const double done = (round + static_cast<double>(p) / static_cast<double>(points.size())) / plan.rounds;
        progress(fmt::format("measure {} points, round {} of {}", points.size(), round + 1, plan.rounds),
                 kPrepareEnd + (1 - kPrepareEnd) * done);
        takeTurn(*points[p].first, points[p].second, round, plan.turn_s);
      }
      publish();
      // The order changes each round, so that a slow drift of the machine favours no point.
      std::reverse(points.begin(), points.end());
    }
  } catch (const Error& error) {
    events_.onTimed(false);
    if (error.code() != kInterrupted || round == 0) throw;
    result_.curves.complete = false;
    note(fmt::format("It was interrupted after {} of {} rounds.", round, plan.rounds));
  }
}

CurvePoint CurvesMeasurement::pointOf(const CurveEngine& engine, std::size_t split) const {
  const PointSamples& samples = engine.points[split];
  CurvePoint point;
  point.precision = precisionName(engine.precision);
  point.batch = engine.batch.size;
  point.threads = splits_[split].threads;
  point.instances = splits_[split].instances;
  point.inputs = engine.batch.inputs;
  point.requests = static_cast<std::int64_t>(samples.run.latency_ns.size());
  const LatencyStats stats = latencyStats(samples.run.latency_ns);
  point.p50_ns = stats.p50_ns;
  point.p99_ns = stats.p99_ns;
  point.rate_per_s = samples.rate_per_s;
  point.memory_bytes = samples.memory_bytes;
  point.sqnr_db = engine.accuracy.sqnr_db;
  point.accurate = engine.accuracy.pass;
  return point;
}

// Makes the points of what was measured, with the verdict on the machine, and shows them.
void CurvesMeasurement::publish() {
  CurvesRecord& curves = result_.curves;
  curves.points.clear();
  NoiseVerdict worst;
  for (const auto& engine : engines_) {
    for (std::size_t s = 0; s < splits_.size(); ++s) {
      curves.points.push_back(pointOf(*engine, s));
      RunRecord run = engine->points[s].run;
      run.cpu_per_wall = engine->points[s].wall_ns > 0 ? static_cast<double>(engine->points[s].cpu_ns) /
                                                             static_cast<double>(engine->points[s].wall_ns)
                                                       : 0;
      const NoiseVerdict verdict = judgeNoise(run);
      curves.points.back().noise = noiseName(verdict.level);
      worst = curves.points.size() == 1 ? verdict : worseNoise(worst, verdict);
    }
  }
  curves.noise = noiseSentence(worst);
  if (changed_) changed_(curves);
}

}  // namespace

std::vector<Precision> curvePrecisions(const JobRequest& request) {
  std::vector<Precision> precisions = request.also;
  const bool has_recipe = !request.optimize.quantization_recipe.empty();
  if (request.curves.every_precision) {
    precisions = {Precision::kFp32};
    for (const Precision precision : {Precision::kBf16, Precision::kFp16, Precision::kInt8}) {
      if (precision == Precision::kInt8 && !has_recipe) continue;
      if (whyNotPrecision(precision, request).empty()) precisions.push_back(precision);
    }
    return precisions;
  }
  if (std::count(precisions.begin(), precisions.end(), request.optimize.precision) == 0)
    precisions.push_back(request.optimize.precision);
  if (std::count(precisions.begin(), precisions.end(), Precision::kInt8) > 0 && !has_recipe)
    throw Error(ExitCode::kUsage, "--precision int8 needs --recipe FILE; ipex-studio calibrate writes one.");
  return precisions;
}

MeasuredCurves measureCurves(const CheckedModel& model, const JobRequest& request, MemoryTuningStore& tuning,
                             JobEvents& events, const Cancellation& cancellation,
                             const std::function<void(const CurvesRecord&)>& changed) {
  checkRequest(request);
  if (request.optimize.device != "cpu" || !request.also_devices.empty())
    throw Error(ExitCode::kUnsupported, "--device: curves are measured on the CPU; use --device cpu.");
  // Points say themselves how the model runs, and on made-up inputs, as data have a batch size of their own.
  JobRequest own = request;
  own.measure.threads = 0;
  own.measure.instances = 1;
  own.measure.hint = Hint::kNone;
  own.data = DataRequest();
  own.optimize.dump_directory.clear();
  return CurvesMeasurement(model, own, tuning, events, cancellation, changed).run();
}

}  // namespace ipex_studio
