// Opens the data of a job, picks its metric, and evaluates modules on it.
#include "studio/engine/job_data.h"

#include <algorithm>

#include "core/file/zip_reader.h"
#include "core/model/run_mode.h"
#include "core/torch/random_numbers.h"
#include "core/torch/torch_error.h"
#include "studio/engine/job_inputs.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kBatchesPerProgress = 16;
constexpr std::uint64_t kMaxPreprocessBytes = 1 << 20;

// Channels of the model's first argument; 0 if it is no image or there is no guess.
std::int64_t guessedChannels(Model& model, const EngineJob& job) {
  std::vector<InputSpec> specs;
  try {
    for (const std::string& text : job.inputs) specs.push_back(parseInputSpec(text));
    specs = model.completeInputs(specs);
  } catch (const Error&) {
    return 0;  // sizes that cannot be guessed come from the data
  }
  const bool image = !specs.empty() && specs.front().value.empty() && specs.front().sizes.size() == 4;
  const std::int64_t channels = image ? specs.front().sizes[1].first : 0;
  return channels == 1 || channels == 3 ? channels : 0;
}

// True if all floating-point parameters are FP32.
bool computesInFp32(const torch::jit::Module& module) {
  for (const at::Tensor& parameter : module.parameters()) {
    if (at::isFloatingType(parameter.scalar_type()) && parameter.scalar_type() != at::kFloat) return false;
  }
  return true;
}

torch::jit::IValue run(torch::jit::Module& module, const Inputs& inputs) {
  try {
    return module.forward(inputs);
  } catch (const std::exception& problem) {
    throw runError(problem);
  }
}

}  // namespace

std::string jobPreprocess(const EngineJob& job) {
  if (!job.data.preprocess.empty()) return job.data.preprocess;
  const ZipReader zip(kEngineModelFd, job.model_name);
  const std::string folder = zip.firstListed().substr(0, zip.firstListed().find('/') + 1);
  const ZipMember* member = zip.find(folder + "extra/preprocess.toml");
  return member == nullptr ? "" : zip.read(*member, kMaxPreprocessBytes);
}

DataSetOptions jobDataOptions(Model& model, const EngineJob& job) {
  DataSetOptions options;
  const std::string preprocess = jobPreprocess(job);
  if (preprocess.empty()) {
    options.preprocess.channels = guessedChannels(model, job);
  } else {
    options.preprocess = preprocessFromText(preprocess, "The preprocessing");
    options.bytes_are_images = true;
  }
  options.floats_as_fp32 = computesInFp32(model.module());
  options.samples = job.data.samples;
  options.seed = job.measure.seed;
  options.batch = job.data.batch;
  return options;
}

std::unique_ptr<DataSet> openJobData(Model& model, const EngineJob& job) {
  if (job.data.path.empty()) return nullptr;
  return std::make_unique<DataSet>(job.data.path, jobDataOptions(model, job));
}

NamedInputs namedInputs(const DataSet& data, const DataBatch& batch) { return {data.names(), batch.inputs}; }

Metric jobMetric(const DataRequest& request, const DataSet& data) {
  const char* otherwise = data.labelled() ? "top-1" : data.hasResults() ? "cosine" : "sqnr";
  const Metric metric = Metric::fromName(request.metric.empty() ? otherwise : request.metric);
  if (metric.needsLabels()) data.requireLabels();
  return metric;
}

std::vector<MetricRecord> evaluate(torch::jit::Module& module, torch::jit::Module* reference, const DataSet& data,
                                   const JobInputs& inputs, Metric metric, std::int64_t compared,
                                   const std::string& stage, Channel& channel) {
  const RunMode mode(module);
  Metric sqnr(MetricKind::kSqnr), cosine(MetricKind::kCosine);
  const std::int64_t batches = data.batches();
  SeededGenerator generator;
  const bool own_results = metric.needsResults() && data.labelled();  // labels are no results
  for (std::int64_t b = 0; b < batches; ++b) {
    if (b % kBatchesPerProgress == 0) channel.progress(stage, static_cast<double>(b) / static_cast<double>(batches));
    const DataBatch batch = data.batch(b);
    const Inputs arguments = inputs.withData(batch.inputs);
    // A model that draws random numbers gets the same ones in every variant, and as its reference.
    generator.seed(static_cast<std::uint64_t>(b));
    const torch::jit::IValue result = run(module, arguments);
    generator.seed(static_cast<std::uint64_t>(b));
    const bool needed = metric.needsResults() && (own_results || !batch.targets.defined());
    at::Tensor expected;
    if (reference != nullptr && (needed || b < compared)) expected = firstTensor(run(*reference, arguments));
    metric.add(result, needed ? expected : batch.targets, batch.samples);
    if (expected.defined() && b < compared) {
      sqnr.add(result, expected, batch.samples);
      cosine.add(result, expected, batch.samples);
    }
  }
  std::vector<MetricRecord> records{metric.record()};
  for (const Metric* more : {&sqnr, &cosine}) {
    if (more->record().samples > 0 && more->kind() != metric.kind()) records.push_back(more->record());
  }
  return records;
}

}  // namespace ipex_studio
