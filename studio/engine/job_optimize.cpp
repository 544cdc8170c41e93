// The optimized variant: rewrite, plan, run, run interleaved, profile, verify, export.
#include <fmt/format.h>
#include <unistd.h>
#include <ext/stdio_filebuf.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <sstream>
#include <streambuf>
#include <tuple>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/lower/region_object.h"
#include "core/model/exported_methods.h"
#include "core/model/measure.h"
#include "core/model/module_state.h"
#include "core/model/run_mode.h"
#include "core/quantization/node_accuracy.h"
#include "core/record/records_json.h"
#include "core/torch/torch_error.h"
#include "core/verify/verify.h"
#include "passes/fault_search.h"
#include "passes/model_source.h"
#include "passes/optimize.h"
#include "passes/pipeline.h"
#include "studio/engine/debug_info.h"
#include "studio/engine/job_data.h"
#include "studio/engine/job_device.h"
#include "studio/engine/job_inputs.h"
#include "studio/engine/job_recipe.h"
#include "studio/engine/job_rounds.h"
#include "studio/engine/job_signature.h"
#include "studio/engine/job_verify.h"
#include "studio/engine/jobs.h"
#include "studio/engine/split_choice.h"
#include "studio/engine/tuning_watch.h"

namespace ipex_studio {
namespace {

// The start of a job, with the work that was done while it waited.
struct Begun {
  std::optional<Model> model;
  std::int64_t load_ns = 0;
  std::unique_ptr<DataSet> data;
  std::optional<JobInputs> inputs;
  std::optional<FrozenModel> frozen;
  bool inputs_count = false;  // true: what fails now fails because of the inputs
  // Reference results per sequence of the verification; empty: they are computed when needed.
  std::vector<ReferenceResults> references;
};

void begin(const EngineJob& job, Channel& channel, Begun& begun) {
  channel.progress("load", 0);
  const std::int64_t load_begin = nowNs();
  begun.model = loadModel(job);
  begun.load_ns = nowNs() - load_begin;
  sendNotes(*begun.model, channel);
  sendSignature(*begun.model, channel);
  begun.data = openJobData(*begun.model, job);
  if (begun.data) jobMetric(job.data, *begun.data);  // throws before work begins if the data cannot be judged
  begun.inputs_count = true;
  if (begun.data) {
    begun.inputs.emplace(*begun.model, job, namedInputs(*begun.data, begun.data->batch(0)));
  } else {
    begun.inputs.emplace(*begun.model, job);
  }
  channel.progress("freeze", 0.1);
  try {
    begun.frozen = freezeModel(begun.model->module(), begun.inputs->example(), job.optimize.preserved_methods);
  } catch (const c10::Error& problem) {
    throw runError(problem);
  }
  begun.inputs_count = false;
}

// Does the work that no decision changes ahead of the job, then waits for the job.
EngineJob waitForJob(EngineJob job, Begun& begun, Channel& channel) {
  channel.progress("prepare", 0.1);
  const bool stateful = !ModuleState(begun.frozen->module).empty();
  for (const auto& steps : begun.inputs->verificationSequences(stateful)) {
    begun.references.push_back(referenceResults(begun.model->module(), steps, job.reset_method));
  }
  channel.send({{"type", "prepared"}});
  EngineJob next = engineJobFromJson(channel.receive());
  job.optimize = std::move(next.optimize);
  job.measure = next.measure;
  job.tune_budget_s = next.tune_budget_s;
  return job;
}

// Rewrites and plans the model. `job`: its recipe becomes the one that is used.
OptimizedModel rewrite(EngineJob& job, Begun& begun, ChannelObserver& observer, Channel& channel) {
  channel.progress("rewrite", 0.2);
  OptimizeOptions& options = job.optimize;
  options.quantization_recipe =
      ownRecipe(options.quantization_recipe, begun.model->module(), begun.inputs->example(), options);
  channel.record("source", modelSource(begun.frozen->module, debugInfoIsSound(kEngineModelFd)));
  return optimizeModel(std::move(*begun.frozen), options, observer);
}

void sendModel(const OptimizedModel& optimized, const JobInputs& inputs, Channel& channel) {
  ModelRecord record;
  record.nodes = optimized.nodes;
  record.inputs = inputs.records();
  record.origins = optimized.origins;
  channel.record("model", record);
}

void sendTuning(const OptimizedModel& optimized, Channel& channel) {
  const std::string record = tuningRecord(optimized.tuning, true);
  if (record.empty()) return;
  nlohmann::json message = parseRecordText(record);
  message["type"] = "tuning";
  channel.send(message);
}

// Writes the model to the descriptor that the studio opened, since the sandbox may deny opening anything for writing.
// Returns the bytes of the model.
std::int64_t writeExport(const OptimizedModel& optimized, ExportForm form, bool prepared,
                         const std::vector<std::string>& only_ops) {
  if (::ftruncate(kEngineExportFd, 0) != 0 || ::lseek(kEngineExportFd, 0, SEEK_SET) != 0) {
    throw Error(ExitCode::kFailure, "There is no file to export to.");
  }
  __gnu_cxx::stdio_filebuf<char> buffer(::dup(kEngineExportFd), std::ios::out | std::ios::binary);
  std::ostream stream(&buffer);
  exportModule(optimized, stream, form, only_ops);
  const auto bytes = static_cast<std::int64_t>(::lseek(kEngineExportFd, 0, SEEK_END));
  if (prepared && form == ExportForm::kCompiled) savePreparedWeights(optimized.module, kEngineExportFd, bytes);
  return bytes;
}

// Runs a portable file before anybody gets it: below FP32 stock operators round at other places than fused ones, and
// may not know a type at all.
void checkPortable(const EngineJob& job, const JobInputs& inputs, const std::vector<ReferenceResults>& references,
                   const OptimizedModel& optimized) {
  std::stringstream file;
  exportModule(optimized, file, ExportForm::kPortable, job.only_ops);
  const char* const precision = precisionName(job.optimize.precision);
  torch::jit::Module module = torch::jit::load(file);
  const ModuleState state(module);
  try {
    const RunMode mode(module);
    module.get_method(job.method.empty() ? "forward" : job.method)(inputs.example());
    state.restore();
  } catch (const std::exception& problem) {
    throw Error(
        ExitCode::kUnsupported,
        fmt::format("--form portable: stock PyTorch does not compute this model in {} ({}); use --form compiled.",
                    precision, shortMessage(problem)));
  }
  if (!job.method.empty()) exchangeForward(module, job.method);
  const AccuracyRecord accuracy = worstAccuracy(job, accuracyRule(job), inputs, !state.empty(), references, module);
  if (!accuracy.pass) {
    throw Error(ExitCode::kAccuracy, fmt::format("--form portable: computed by stock operators in {} the model is not "
                                                 "accurate enough ({}); use --form compiled.",
                                                 precision, accuracy.text));
  }
}

// Discards what is written and counts its bytes.
class CountingBuffer : public std::streambuf {
 public:
  std::int64_t bytes() const { return bytes_; }

 protected:
  std::streamsize xsputn(const char*, std::streamsize count) override {
    bytes_ += count;
    return count;
  }
  int_type overflow(int_type character) override {
    ++bytes_;
    return traits_type::not_eof(character);
  }

 private:
  std::int64_t bytes_ = 0;
};

std::int64_t compiledBytes(const OptimizedModel& optimized) {
  CountingBuffer buffer;
  std::ostream stream(&buffer);
  exportModule(optimized, stream, ExportForm::kCompiled);
  return buffer.bytes();
}

// Errors of each operation, below FP32 of those in the lower precision; empty if the graph cannot be run node by node.
std::vector<AccuracyRecord> compareNodes(const EngineJob& job, const JobInputs& inputs,
                                         const OptimizedModel& optimized) {
  const torch::jit::Module frozen = freezeForPasses(loadModel(job).module(), job.optimize.preserved_methods);
  try {
    const bool low = job.optimize.precision != Precision::kFp32;
    return nodeAccuracy(frozen, optimized.rewritten, optimized.rewritten_origins, inputs.example(), optimized.divisors,
                        low ? ComparedNodes::kLower : ComparedNodes::kAll);
  } catch (const Error&) {
    return {};
  } catch (const std::exception&) {
    return {};  // an operator cannot run alone
  }
}

// Judges `candidate` against the model in FP32, which is loaded afresh.
std::vector<MetricRecord> judge(const EngineJob& job, const DataSet& data, const JobInputs& inputs,
                                torch::jit::Module& candidate, Channel& channel) {
  constexpr std::int64_t kComparedBatches = 64;
  const Metric metric = jobMetric(job.data, data);
  const bool compare = job.optimize.precision != Precision::kFp32 || metric.needsResults();
  if (!compare) return evaluate(candidate, nullptr, data, inputs, metric, 0, "evaluate", channel);
  torch::jit::Module reference = freezeBaseline(loadModel(job).module(), job.optimize.preserved_methods);
  return evaluate(candidate, &reference, data, inputs, metric, kComparedBatches, "evaluate", channel);
}

// The split of cores: measured if the job has a --hint, else the job's own.
MeasureOptions chosenSplit(const EngineJob& job, const JobInputs& inputs, OptimizedModel& optimized, Channel& channel) {
  MeasureOptions options = job.measure;
  if (options.hint == Hint::kNone || job.optimize_only) return options;
  channel.progress("measure splits of the cores", 0.9);
  std::string sentence;
  const Split split = chooseSplit(optimized.module, inputs.example(), options.threads, options.hint, &sentence);
  channel.log(sentence);
  options.instances = split.instances;
  options.threads = split.threads;
  setThreads(split.threads);
  return options;
}

// The verdict on the optimized model.
struct ResultsVerdict {
  AccuracyRecord worst;
  std::vector<Inputs> failing;  // calls in sequence of the worst record; empty if it passes
};

ResultsVerdict judgeResults(const EngineJob& job, const Begun& begun, bool stateful, OptimizedModel& optimized,
                            Channel& channel) {
  const JobInputs& inputs = *begun.inputs;
  const AccuracyRule rule = accuracyRule(job);
  channel.progress("verify", 0.3);
  ResultsVerdict verdict;
  std::vector<std::string> remarks;
  verdict.worst =
      worstAccuracy(job, rule, inputs, stateful, begun.references, optimized.module, &remarks, &verdict.failing);
  for (const std::string& remark : remarks) channel.log(remark);
  if (!verdict.worst.pass) return verdict;
  channel.progress("verify on other inputs", 0.35);
  const FurtherAccuracy further = furtherAccuracy(job, rule, inputs, stateful, optimized.module);
  channel.log(further.tried);
  if (further.worst.pass) return verdict;
  return {further.worst, further.failing};
}

// What to leave out for results to be right. Below FP32 results may also be off because of the precision.
nlohmann::json faultOf(const EngineJob& job, const Begun& begun, const OptimizedModel& optimized,
                       const std::vector<Inputs>& failing, Channel& channel) {
  if (job.optimize.precision != Precision::kFp32 || failing.empty()) return nullptr;
  Model original = loadModel(job);
  OptimizeOptions options = job.optimize;
  options.tuning_record = tuningRecord(optimized.tuning, false);
  options.tune = TuneMode::kOff;  // the kernels that were chosen
  try {
    WrongModel wrong{original.module(), accuracyRule(job), job.reset_method, failing, options, {}};
    wrong.make = [&](const OptimizeOptions& other, Observer& observer) {
      return optimizeModel(original.module(), begun.inputs->example(), other, observer);
    };
    const auto fault = findFault(
        wrong, [&](int tries) { channel.progress(fmt::format("search what is wrong (try {})", tries), 0.5); });
    if (fault) return {{"leave_out", fault->leave_out}, {"text", fault->text}};
  } catch (const Error&) {
    // The search itself meets the fault.
  } catch (const std::exception&) {
  }
  return nullptr;
}

// `state`: the file's; whatever runs the model here leaves it with that, so every comparison and every export begins
// with it.
void serve(const EngineJob& job, const MeasureOptions& measure, const Begun& begun, const ModuleState& state,
           OptimizedModel& optimized, Channel& channel) {
  const JobInputs& inputs = *begun.inputs;
  Rounds rounds(optimized.module, state, inputs.example(), measure, channel);
  std::optional<ResultsVerdict> verdict;
  while (true) {
    const FinishRequest request = rounds.takeAll();
    if (rounds.tookSplits()) sendTuning(optimized, channel);  // other numbers of threads measure kernels of their own
    RunRecord run;
    // Work done ahead took memory that a plain run would not need, so its peak is not reported.
    const std::int64_t peak_rss_bytes = begun.references.empty() ? peakRssBytes() : 0;
    if (request.profile_iterations > 0) {
      channel.progress("time every step", 0.0, true);
      profileSteps(optimized.module, inputs.example(), request.profile_iterations, optimized.origins, run);
      state.restore();
    }
    const bool compares = request.compare_nodes || job.optimize.precision != Precision::kFp32;
    if (request.profile_iterations > 0 && compares) {
      channel.progress("compare operations with FP32", 0.2);
      run.node_accuracy = compareNodes(job, inputs, optimized);
    }
    if (!verdict) verdict = judgeResults(job, begun, !state.empty(), optimized, channel);
    const AccuracyRecord& accuracy = verdict->worst;
    run.accuracy = accuracy;
    if (request.evaluate) {
      run.export_bytes = compiledBytes(optimized);
      if (begun.data) run.metrics = judge(job, *begun.data, inputs, optimized.module, channel);
      state.restore();
    }
    std::int64_t model_bytes = 0;
    if (request.export_form == ExportForm::kPortable && accuracy.pass && job.optimize.precision != Precision::kFp32) {
      channel.progress("run the portable file", 0.9);
      checkPortable(job, inputs, begun.references, optimized);
    }
    if (request.export_form && accuracy.pass)
      model_bytes = writeExport(optimized, *request.export_form, request.prepared, job.only_ops);
    nlohmann::json fault;
    if (request.find_fault && !accuracy.pass) fault = faultOf(job, begun, optimized, verdict->failing, channel);
    channel.send({{"type", "result"},
                  {"peak_rss_bytes", peak_rss_bytes},
                  {"model_bytes", model_bytes},
                  {"fault", fault},
                  {"record", toJson(run)}});
    if (!request.stay) return;
  }
}

}  // namespace

void runOptimizeJob(const EngineJob& described, Channel& channel) {
  Begun begun;
  EngineJob job = described;
  ChannelObserver observer(channel, static_cast<int>(defaultPasses().size()) + 2);
  OptimizedModel optimized;
  try {
    begin(described, channel, begun);
    if (described.wait) job = waitForJob(described, begun, channel);
    useJobDevice(job);
    optimized = rewrite(job, begun, observer, channel);
  } catch (const std::exception&) {
    // Its graph helps to find out what to run the model with.
    if (begun.model) sendUnrun(*begun.model, described, begun.inputs_count, channel);
    throw;
  }
  const JobInputs& inputs = *begun.inputs;
  const ModuleState state(optimized.module);
  optimized.preprocess = jobPreprocess(job);
  optimized.method = job.method;
  begun.frozen.reset();
  begun.model.reset();  // a program that uses the result would not keep the original either
  channel.record("frozen", optimized.frozen);
  sendModel(optimized, inputs, channel);
  if (job.tune_budget_s > 0) setTuningBudget(optimized.tuning, job.tune_budget_s);
  std::int64_t first_run_ns = 0, tune_ns = 0;
  if (!job.optimize_only) {
    channel.progress("first run", 0.8);
    {
      const TuningWatch watch(optimized.tuning, channel);
      const std::int64_t run_begin = nowNs();
      eliminateSlowRegions(optimized, inputs.example(), job.optimize, observer);
      firstRun(optimized.module, inputs.example());
      first_run_ns = nowNs() - run_begin;
    }
    const TuningProgress tuned = tuningProgress(optimized.tuning);
    tune_ns = tuned.spent_ns;
    if (job.tune_budget_s > 0 && tuned.done + 1 < tuned.total) {
      channel.log(
          fmt::format("Kernels of {} of {} operations were measured in the time there was; the others are chosen by "
                      "rules of thumb until Optimize "
                      "measures them.",
                      tuned.done, tuned.total));
    }
    sendTuning(optimized, channel);
  }
  const MeasureOptions measure = chosenSplit(job, inputs, optimized, channel);
  channel.send({{"type", "ready"},
                {"load_ns", begun.load_ns},
                {"compile_ns", optimized.compile_ns},
                {"first_run_ns", std::max<std::int64_t>(0, first_run_ns - tune_ns)},
                {"tune_ns", tune_ns},
                {"threads", measure.threads},
                {"instances", measure.instances},
                {"coverage_nodes", optimized.coverage.nodes}});
  if (!job.optimize_only) serve(job, measure, begun, state, optimized, channel);
}

void runVerifyJob(const EngineJob& job, Channel& channel) {
  channel.progress("load", 0);
  Model original = loadModel(job);
  const std::int64_t load_begin = nowNs();
  Model candidate = Model::load(kEngineOtherPath, job.method);
  const std::int64_t load_ns = nowNs() - load_begin;
  const JobInputs inputs(original, job);
  const ModuleState state(candidate.module());
  const std::int64_t first_run_ns = firstRun(candidate.module(), inputs.example());
  state.restore();
  nlohmann::json records = nlohmann::json::array();
  std::vector<AccuracyRecord> all;
  for (const auto& steps : inputs.verificationSequences(keepsState(original.module()))) {
    channel.progress("verify", 0.5);
    const ReferenceResults reference = referenceResults(original.module(), steps, job.reset_method);
    if (all.empty()) {
      for (const std::string& remark : remarksOn(reference)) channel.log(remark);
    }
    const auto found = verifyModule(reference, candidate.module(), steps, job.reset_method, accuracyRule(job));
    all.insert(all.end(), found.begin(), found.end());
  }
  // Worst records come first, whichever inputs they come from.
  std::stable_sort(all.begin(), all.end(), [](const AccuracyRecord& a, const AccuracyRecord& b) {
    return std::make_tuple(a.output != -1, a.pass, -a.max_rel) < std::make_tuple(b.output != -1, b.pass, -b.max_rel);
  });
  for (const AccuracyRecord& record : all) records.push_back(toJson(record));
  channel.send({{"type", "result"}, {"accuracy", records}, {"load_ns", load_ns}, {"first_run_ns", first_run_ns}});
}

void runPassesJob(Channel& channel) {
  nlohmann::json passes = nlohmann::json::array();
  for (const Pass* pass : defaultPasses()) passes.push_back({{"name", pass->name}, {"summary", pass->summary}});
  passes.push_back({{"name", kLowerToPlanName}, {"summary", kLowerToPlanSummary}});
  passes.push_back({{"name", kEliminateSlowRegionName}, {"summary", kEliminateSlowRegionSummary}});
  channel.send({{"type", "result"}, {"passes", passes}});
}

}  // namespace ipex_studio
