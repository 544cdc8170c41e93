// The stages of a job, from the start of its engines to the export.
#include "studio/job/session_job.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <limits>
#include <thread>
#include <utility>

#include "core/plan/prepared_weights.h"
#include "core/record/records_json.h"
#include "core/record/warning_reasons.h"
#include "profiler/statistics.h"
#include "studio/job/outputs.h"
#include "studio/job/session_job_side.h"
#include "studio/job/session_prepared.h"
#include "studio/job/session_request.h"

namespace ipex_studio {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kMaxProfileIterations = 50;
constexpr double kProfile_s = 1.0;

// Positions of a job's stages on the progress bar.
constexpr double kOptimizeBegin = 0.02, kOptimizeEnd = 0.30, kBaselineEnd = kRoundsBegin, kMeasureEnd = kRoundsEnd;

const json& recordOf(const json& message) {
  const auto found = message.find("record");
  if (found == message.end()) unexpectedMessage("record");
  return *found;
}

std::vector<ArgumentRecord> readSignature(const json& message) {
  const auto found = message.find("arguments");
  if (found == message.end() || !found->is_array()) unexpectedMessage("signature");
  std::vector<ArgumentRecord> arguments;
  for (const json& argument : *found) arguments.push_back(recordFromJson<ArgumentRecord>(argument));
  return arguments;
}

}  // namespace

ModelJob::ModelJob(const CheckedModel& model, const JobRequest& request, bool with_baseline, JobEvents& events,
                   const Cancellation& cancellation)
    : model_(model), request_(request), events_(events), cancellation_(cancellation) {
  prepare(nullptr);
  if (with_baseline) baseline_ = startBaseline();
  startOthers();
}

ModelJob::ModelJob(const CheckedModel& model, const JobRequest& request, std::unique_ptr<ModelJob> before,
                   std::unique_ptr<PreparedEngine> prepared, JobEvents& events, const Cancellation& cancellation)
    : model_(model), request_(request), before_(std::move(before)), events_(events), cancellation_(cancellation) {
  IPEX_CHECK(before_ && before_->optimized_ && !before_->job_.runs.empty(), "there is nothing to measure against");
  prepare(std::move(prepared));
  baseline_ = std::move(before_->optimized_);
  const RunRecord& was = before_->job_.runs.back();
  RunRecord run;
  run.variant = "before";
  run.device = was.device;
  run.precision = was.precision;
  run.threads = was.threads;
  run.instances = was.instances;
  run.load_ns = was.load_ns;
  run.compile_ns = was.compile_ns;
  run.tune_ns = was.tune_ns;
  run.first_run_ns = was.first_run_ns;
  run.peak_rss_bytes = was.peak_rss_bytes;
  run.coverage = was.coverage;
  run.accuracy = was.accuracy;  // compared with the reference when that version was new
  baseline_->run = std::move(run);
  baseline_->wall_ns = baseline_->cpu_ns = 0;
}

// Checks the request and starts the optimizing engine, or takes the prepared one.
void ModelJob::prepare(std::unique_ptr<PreparedEngine> prepared) {
  checkRequest(request_);
  const bool waits = prepared && prepared->fits(request_, threads()) && prepared->wait();
  if (!waits) prepared.reset();
  folder_ = waits ? std::move(prepared->folder) : std::make_unique<JobFolder>();
  beginJobRecord(request_.command, model_, &job_);
  job_.decisions = request_.decisions;
  json options = recordedOptions(engineJob(JobKind::kOptimize, model_, request_, *folder_, threads()));
  options["optimize"].erase("tuning_record");
  job_.options = dumpJson(options);
  if (!request_.optimize.dump_directory.empty()) std::filesystem::create_directory(folder_->path() + "/dump");
  export_ = waits ? std::move(prepared->export_file) : openExportFile(*folder_);
  const OptimizeOptions& wanted = request_.optimize;
  optimized_ = waits ? sideOf(std::move(prepared->process), "optimized", wanted.device, wanted.precision)
                     : startEngine("optimized", wanted.device, wanted.precision);
  if (!waits) return;
  for (const json& message : prepared->said) absorb(*optimized_, message);
}

void ModelJob::startOthers() {
  std::vector<std::string> devices = request_.also_devices;
  std::vector<Precision> precisions = request_.also;
  devices.push_back(request_.optimize.device);
  precisions.push_back(request_.optimize.precision);
  for (std::size_t d = 0; d < devices.size(); ++d) {
    for (std::size_t p = 0; p < precisions.size(); ++p) {
      if (d + 1 == devices.size() && p + 1 == precisions.size()) return;  // optimized_
      others_.push_back(startEngine("optimized", devices[d], precisions[p]));
    }
  }
}

bool ModelJob::isOther(const Side& side) const {
  return std::any_of(others_.begin(), others_.end(), [&](const auto& other) { return other.get() == &side; });
}

ModelJob::~ModelJob() = default;

std::int32_t ModelJob::threads() const {
  const MeasureOptions& measure = request_.measure;
  return measure.threads > 0 ? measure.threads : std::max(1, model_.machine.cores / std::max(1, measure.instances));
}

JobRequest ModelJob::requestOn(const std::string& device) const {
  JobRequest request = request_;
  request.optimize.device = device;
  return request;
}

std::unique_ptr<ModelJob::Side> ModelJob::startEngine(const char* variant, const std::string& device,
                                                      Precision precision) {
  EngineStart start = engineStart(model_, requestOn(device), *folder_, threads());
  if (!optimized_) start.export_fd = export_.get();
  return sideOf(std::make_unique<EngineProcess>(start, cancellation_), variant, device, precision);
}

std::unique_ptr<ModelJob::Side> ModelJob::startBaseline() { return startEngine("baseline", "cpu", Precision::kFp32); }

std::unique_ptr<ModelJob::Side> ModelJob::sideOf(std::unique_ptr<EngineProcess> engine, const char* variant,
                                                 const std::string& device, Precision precision) const {
  auto side = std::make_unique<Side>(std::move(engine), variant);
  side->run.device = device;
  side->run.precision = precisionName(precision);
  side->run.threads = threads();
  side->run.instances = request_.measure.instances;
  return side;
}

double ModelJob::elapsed_s() const { return std::chrono::duration<double>(Clock::now() - started_).count(); }

void ModelJob::progress(const std::string& stage, double fraction) {
  const double eta_s = fraction > 0.1 ? elapsed_s() * (1 - fraction) / fraction : -1;
  events_.onProgress(stage, fraction, eta_s);
}

void ModelJob::absorb(Side& side, const json& message) {
  const std::string type = messageText(message, "type");
  // Records of passes are taken from the engine whose result is kept.
  const bool passes = type == "source" || type == "frozen" || type == "pass" || type == "remark";
  const bool of_baseline = type == "remark" && &side == baseline_.get() && !before_;
  if (passes && !of_baseline && &side != optimized_.get()) return;
  if (type == "progress") {
    const double fraction = std::clamp(messageNumber(message, "fraction"), 0.0, 1.0);
    const bool timed = message.find("timed") != message.end() && messageBool(message, "timed");
    if (!timed) events_.onTimed(false);  // between two timed blocks the window gets no news
    progress(messageText(message, "stage", 200),
             side.progress_begin + fraction * (side.progress_end - side.progress_begin));
    if (timed) events_.onTimed(true);
  } else if (type == "log") {
    events_.onLog(messageText(message, "text", 4000), messageText(message, "level", 20) == "warning");
  } else if (type == "hello") {
    job_.machine.libtorch = messageText(message, "libtorch", 100);
    job_.machine.onednn = messageText(message, "onednn", 100);
  } else if (type == "model") {
    // Only the fields that the engine alone knows are taken; path, hash and size are known here.
    ModelRecord record = recordFromJson<ModelRecord>(recordOf(message));
    if (&side != optimized_.get()) return;
    job_.model.nodes = record.nodes;
    job_.model.inputs = std::move(record.inputs);
    if (!record.origins.empty()) job_.model.origins = std::move(record.origins);
  } else if (type == "refused") {
    inputs_refused_ = true;
  } else if (type == "signature") {
    if (&side == optimized_.get()) events_.onSignature(readSignature(message));
  } else if (type == "source") {
    source_ = std::make_shared<const SourceRecord>(recordFromJson<SourceRecord>(recordOf(message)));
    events_.onSource(source_);
  } else if (type == "frozen") {
    job_.frozen = std::make_shared<const GraphSnapshot>(recordFromJson<GraphSnapshot>(recordOf(message)));
    events_.onRecord(job_);
  } else if (type == "pass") {
    job_.passes.push_back(recordFromJson<PassRecord>(recordOf(message)));
    if (job_.passes.back().changed) events_.onRecord(job_);
  } else if (type == "remark") {
    job_.remarks.push_back(recordFromJson<Remark>(recordOf(message)));
  } else if (type == "step") {
    side.run.steps.push_back(recordFromJson<StepRecord>(recordOf(message)));
  } else if (type == "tuning") {
    if (&side == optimized_.get() || isOther(side)) tuning_.read(message);
  } else if (type == "dispatch") {
    side.run.dispatches.push_back(recordFromJson<DispatchRecord>(recordOf(message)));
  } else {
    unexpectedMessage(type);
  }
}

json ModelJob::expect(Side& side, const char* type) {
  while (true) {
    json message = side.process->receive();
    if (messageText(message, "type") == type) return message;
    absorb(side, message);
  }
}

void ModelJob::load(Side& side, bool only_rewrite) {
  const bool is_baseline = &side == baseline_.get();
  EngineJob job = engineJob(is_baseline ? JobKind::kBaseline : JobKind::kOptimize, model_, requestOn(side.run.device),
                            *folder_, threads());
  job.measure = request_.measure;
  job.measure.threads = threads();
  job.optimize_only = only_rewrite;
  job.tune_budget_s = request_.tune_budget_s;
  if (isOther(side)) job.optimize.precision = precisionFromName(side.run.precision).value_or(Precision::kFp32);
  if (isOther(side) || is_baseline) job.optimize.dump_directory.clear();
  if (job.optimize.precision != Precision::kInt8) job.optimize.quantization_recipe.clear();
  if (is_baseline) job.optimize.tuning_record.clear();
  const bool beside = is_baseline || isOther(side);
  if (beside && job.inputs_path.empty() && job.data.path.empty()) {
    // The same inputs as the optimized engine's.
    job.inputs.clear();
    for (const InputRecord& input : job_.model.inputs) job.inputs.push_back(inputText(input));
  }
  side.process->send(toJson(job));
  const json ready = expect(side, "ready");
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  side.run.load_ns = messageInteger(ready, "load_ns", 0, kMax);
  side.run.compile_ns = messageInteger(ready, "compile_ns", 0, kMax);
  side.run.first_run_ns = messageInteger(ready, "first_run_ns", 0, kMax);
  side.run.tune_ns = messageInteger(ready, "tune_ns", 0, kMax);
  // Other engines get the same split of threads, asked for or chosen by --hint.
  request_.measure.threads = static_cast<std::int32_t>(messageInteger(ready, "threads", 1, 1 << 16));
  request_.measure.instances = static_cast<std::int32_t>(messageInteger(ready, "instances", 1, 1 << 16));
  request_.measure.hint = Hint::kNone;
  side.run.threads = request_.measure.threads;
  side.run.instances = request_.measure.instances;
  side.run.coverage.nodes = std::clamp(messageNumber(ready, "coverage_nodes"), 0.0, 1.0);
}

void ModelJob::keepDumps() const {
  if (!request_.optimize.dump_directory.empty()) copyDumps(folder_->path() + "/dump", request_.optimize.dump_directory);
}

void ModelJob::readGraph() {
  optimized_->progress_begin = 0;
  optimized_->progress_end = 1;
  optimized_->process->send(toJson(engineJob(JobKind::kGraph, model_, request_, *folder_, threads())));
  expect(*optimized_, "result");
  events_.onRecord(job_);
}

void ModelJob::optimize(bool only_rewrite) {
  optimized_->progress_begin = kOptimizeBegin;
  optimized_->progress_end = only_rewrite ? 1.0 : kOptimizeEnd;
  progress("start", kOptimizeBegin);
  try {
    load(*optimized_, only_rewrite);
  } catch (const Error&) {
    keepDumps();  // a pass that failed leaves its reproducer among them
    throw;
  }
  keepDumps();
  events_.onRecord(job_);
}

// Loads the engines that are measured beside the optimized one.
void ModelJob::loadBeside() {
  std::vector<Side*> beside;
  for (const auto& other : others_) beside.push_back(other.get());
  if (baseline_ && !before_) beside.push_back(baseline_.get());
  const double share = (kBaselineEnd - kOptimizeEnd) / static_cast<double>(std::max<std::size_t>(1, beside.size()));
  double begin = kOptimizeEnd;
  for (Side* side : beside) {
    side->progress_begin = begin;
    side->progress_end = begin += share;
    load(*side, false);
  }
}

bool ModelJob::startOver() {
  constexpr std::size_t kMaxLeftOut = 3;
  if (accurate_ || leave_out_.empty() || left_out_.size() == kMaxLeftOut) return false;
  events_.onLog(fmt::format("Results were wrong ({}) because of {}. The job starts over with --disable {}, which makes "
                            "them right.",
                            job_.runs.back().accuracy.text, fault_, leave_out_),
                true);
  left_out_.push_back({leave_out_.substr(0, leave_out_.find('#')),
                       RemarkKind::kMissed,
                       kLeftOutReason,
                       fmt::format("{} was left out, because it made results wrong: {}.", leave_out_, fault_),
                       {}});
  request_.optimize.disabled_passes.push_back(std::exchange(leave_out_, ""));
  accurate_ = true;
  job_ = JobRecord();
  optimized_.reset();
  prepare(nullptr);
  return true;
}

void ModelJob::measure() {
  const bool with_baseline = baseline_ != nullptr;
  loadBeside();
  std::vector<Side*> sides{optimized_.get()};
  for (const auto& other : others_) sides.push_back(other.get());
  if (baseline_) sides.push_back(baseline_.get());
  runInterleaved(std::move(sides));
  std::vector<Side*> judged{baseline_.get()};
  for (const auto& other : others_) judged.push_back(other.get());
  judged.push_back(optimized_.get());
  for (Side* side : judged) {
    if (side == nullptr) continue;
    side->run.cpu_per_wall = side->wall_ns > 0 ? static_cast<double>(side->cpu_ns) / side->wall_ns : 0;
    const double median_s = std::max(1e-9, static_cast<double>(median(side->run.latency_ns)) * 1e-9);
    side->progress_begin = side->progress_end = kMeasureEnd;
    if (side == optimized_.get()) side->progress_end = 1;
    const auto profile_iterations =
        static_cast<int>(std::clamp(kProfile_s / median_s, 3.0, double{kMaxProfileIterations}));
    if (!before_) finish(*side, profile_iterations);
    // The version before was verified when it was new. The verdict comes first, the times of steps after it.
    if (before_ && side == optimized_.get()) finish(*side, 0, false);
    job_.runs.push_back(side->run);
    if (!before_ || side != optimized_.get()) continue;
    events_.onMeasured(job_);
    finish(*side, profile_iterations);
    job_.runs.back() = side->run;
  }
  const bool alone = before_ == nullptr;
  baseline_.reset();
  before_.reset();
  others_.clear();
  if (alone && startOver()) {
    if (with_baseline) baseline_ = startBaseline();
    startOthers();
    optimize();
    measure();
    return;
  }
  job_.remarks.insert(job_.remarks.end(), left_out_.begin(), left_out_.end());
  events_.onRecord(job_);
}

void ModelJob::timeAgainst() {
  IPEX_CHECK(before_ && baseline_ && optimized_, "there is nothing to time against");
  runInterleaved({optimized_.get(), baseline_.get()});
  job_.runs = {baseline_->run, optimized_->run};
}

std::unique_ptr<ModelJob> ModelJob::giveBack() {
  IPEX_CHECK(before_ && baseline_, "there is no job to give back");
  optimized_.reset();
  baseline_->run = before_->job_.runs.back();
  before_->optimized_ = std::move(baseline_);
  return std::move(before_);
}

void ModelJob::verify() {
  optimized_->progress_begin = kOptimizeEnd;
  optimized_->progress_end = 1;
  finish(*optimized_, 0);
  job_.runs.push_back(optimized_->run);
  if (startOver()) {
    optimize();
    verify();
    return;
  }
  job_.remarks.insert(job_.remarks.end(), left_out_.begin(), left_out_.end());
  events_.onRecord(job_);
}

void ModelJob::addSearch(std::vector<SensitivityRecord> sensitivities, std::vector<TradeoffRecord> tradeoffs) {
  job_.sensitivities = std::move(sensitivities);
  job_.tradeoffs = std::move(tradeoffs);
}

json ModelJob::answerTo(Side& side, const FinishRequest& request) {
  side.process->send(toJson(request));
  json result = expect(side, "result");
  events_.onTimed(false);
  return result;
}

void ModelJob::finish(Side& side, int profile_iterations, bool evaluate) {
  FinishRequest request;
  request.profile_iterations = profile_iterations;
  request.evaluate = evaluate && (!request_.data.path.empty() || !others_.empty());
  request.stay = &side == optimized_.get();
  request.find_fault = &side == optimized_.get() && !before_;
  request.compare_nodes = !request_.also_devices.empty();
  const json result = answerTo(side, request);
  side.run.peak_rss_bytes = messageInteger(result, "peak_rss_bytes", 0, std::numeric_limits<std::int64_t>::max());
  RunRecord profiled = recordFromJson<RunRecord>(recordOf(result));
  if (!profiled.steps.empty()) side.run.steps = std::move(profiled.steps);
  if (!profiled.dispatches.empty()) side.run.dispatches = std::move(profiled.dispatches);
  side.run.step_times = std::move(profiled.step_times);
  side.run.coverage.time = std::clamp(profiled.coverage.time, 0.0, 1.0);
  side.run.node_accuracy = std::move(profiled.node_accuracy);
  if (evaluate) {
    side.run.metrics = std::move(profiled.metrics);
    side.run.export_bytes = std::max<std::int64_t>(0, profiled.export_bytes);
  }
  checkRecord(side.run);
  if (isOther(side)) side.run.accuracy = std::move(profiled.accuracy);
  if (&side != optimized_.get()) return;
  side.run.accuracy = std::move(profiled.accuracy);
  accurate_ = side.run.accuracy.pass;
  if (const auto fault = result.find("fault"); fault != result.end() && fault->is_object()) {
    leave_out_ = messageText(*fault, "leave_out", 1000);
    fault_ = messageText(*fault, "text", 2000);
  }
  // A result that passes by the user's own rule (--min-cosine) is reported each time.
  const bool own_rule = accurate_ && request_.optimize.min_cosine > 0 && side.run.precision != "fp32";
  if (own_rule) events_.onLog(fmt::format("Results pass: {}.", side.run.accuracy.text), false);
}

std::string ModelJob::accuracySentence() const {
  if (accurate_ || job_.runs.empty()) return "";
  const std::string& text = job_.runs.back().accuracy.text;
  if (job_.runs.back().precision == "fp32") {
    return fmt::format(
        "The optimized model is not accurate enough ({}), and leaving out no single rewrite or kernel mends it; "
        "nothing "
        "was exported. --limit N or --disable PASS help to find what causes it.",
        text);
  }
  return fmt::format(
      "The optimized model is not accurate enough ({}); nothing was exported. --limit N or --disable PASS help to find "
      "the rewrite that causes it; --min-cosine X lets results pass that you have judged yourself.",
      text);
}

void ModelJob::exportTo(const std::string& path, ExportForm form, bool prepared) {
  if (!accurate_) throw Error(ExitCode::kAccuracy, accuracySentence());
  checkForm(request_, form);
  // Callers ask before a run; during it files may have been moved.
  checkOutputs({{path}, {model_.worker.empty() ? model_.path : ""}, true}, "");
  events_.onProgress("export", 0.99, -1);
  FinishRequest request;
  request.export_form = form;
  request.prepared = prepared;
  request.stay = true;
  const json result = answerTo(*optimized_, request);
  const std::int64_t bytes = messageInteger(result, "model_bytes", 0, std::numeric_limits<std::int64_t>::max());
  moveExport(export_.get(), bytes, path);
  if (prepared) movePreparedWeights(export_.get(), bytes, path + kPreparedSuffix);
}

}  // namespace ipex_studio
