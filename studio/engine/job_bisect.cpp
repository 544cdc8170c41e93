// The search for the first wrong node: of an optimized model, or of another file.
#include <algorithm>
#include <optional>

#include "core/lower/region_object.h"
#include "core/model/measure.h"
#include "core/record/records_json.h"
#include "passes/bisect.h"
#include "passes/bisect_files.h"
#include "studio/engine/job_data.h"
#include "studio/engine/job_device.h"
#include "studio/engine/job_inputs.h"
#include "studio/engine/job_recipe.h"
#include "studio/engine/job_rounds.h"
#include "studio/engine/job_verify.h"
#include "studio/engine/jobs.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kMaxBatches = 64;  // of the data, on which a difference is looked for

// The inputs of a job, and all calls on which results are compared.
struct ComparedCalls {
  ComparedCalls(Model& original, const EngineJob& job) : data(openJobData(original, job)) {
    inputs.emplace(data ? JobInputs(original, job, namedInputs(*data, data->batch(0))) : JobInputs(original, job));
    stateful = keepsState(original.module());
    sequences = inputs->verificationSequences(stateful);
    for (std::int64_t b = 1; data && b < std::min(data->batches(), kMaxBatches); ++b)
      sequences.push_back({inputs->withData(data->batch(b).inputs)});
  }

  std::unique_ptr<DataSet> data;
  std::optional<JobInputs> inputs;
  bool stateful = false;
  std::vector<std::vector<Inputs>> sequences;
};

// The first calls on which results are wrong.
std::optional<std::vector<Inputs>> failingCalls(const EngineJob& job, const ComparedCalls& calls,
                                                const torch::jit::Module& original, torch::jit::Module& candidate,
                                                Channel& channel) {
  for (const auto& steps : calls.sequences) {
    channel.progress("compare results", 0.3);
    const ReferenceResults reference = referenceResults(original, steps, job.reset_method);
    if (!verifyWorst(reference, candidate, steps, job.reset_method, accuracyRule(job)).pass) return steps;
  }
  return std::nullopt;
}

void sendBisection(const BisectRecord& record, Channel& channel) {
  channel.send({{"type", "result"}, {"bisect", toJson(record)}});
}

}  // namespace

void runBisectJob(const EngineJob& job, Channel& channel) {
  channel.progress("load", 0);
  Model original = loadModel(job);
  for (const std::string& note : original.notes()) channel.log(note);
  const ComparedCalls calls(original, job);
  const Inputs& example = calls.inputs->example();
  OptimizeOptions options = job.optimize;
  options.quantization_recipe = ownRecipe(options.quantization_recipe, original.module(), example, options);
  Observer silent;
  channel.progress("optimize", 0.1);
  useJobDevice(job);
  OptimizedModel optimized = optimizeModel(original.module(), example, options, silent);
  firstRun(optimized.module, example);
  options.tuning_record = tuningRecord(optimized.tuning, false);
  options.tune = TuneMode::kOff;  // the kernels that were chosen
  WrongModel wrong{original.module(), accuracyRule(job), job.reset_method, {}, options, {}};
  const auto failing = failingCalls(job, calls, original.module(), optimized.module, channel);
  wrong.steps = failing.value_or(calls.sequences.front());
  if (!failing && !calls.data) {
    channel.progress("compare results on other inputs", 0.4);
    const auto further = furtherAccuracy(job, wrong.rule, *calls.inputs, calls.stateful, optimized.module);
    if (!further.worst.pass) wrong.steps = further.failing;
  }
  wrong.make = [&](const OptimizeOptions& other, Observer& observer) {
    return optimizeModel(original.module(), example, other, observer);
  };
  sendBisection(bisectOptimized(wrong, [&](const std::string& stage) { channel.progress(stage, 0.5); }), channel);
}

void runBisectFilesJob(const EngineJob& job, Channel& channel) {
  channel.progress("load", 0);
  Model original = loadModel(job);
  Model other = Model::load(kEngineOtherPath, job.method);
  const ComparedCalls calls(original, job);
  TwoModels models{
      original.module(), other.module(), accuracyRule(job), job.reset_method, job.optimize.preserved_methods, {}};
  models.steps = failingCalls(job, calls, original.module(), other.module(), channel).value_or(calls.sequences.front());
  channel.progress("compare nodes", 0.6);
  sendBisection(bisectFiles(models), channel);
}

}  // namespace ipex_studio
