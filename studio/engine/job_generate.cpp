// A text that a language model writes, with the model as it is optimized, and what the original says about it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/generate/generate.h"
#include "core/lower/region_object.h"
#include "core/model/input_signature.h"
#include "core/record/records_json.h"
#include "passes/optimize.h"
#include "studio/engine/job_device.h"
#include "studio/engine/job_inputs.h"
#include "studio/engine/job_recipe.h"
#include "studio/engine/job_verify.h"
#include "studio/engine/jobs.h"
#include "studio/engine/tuning_watch.h"

namespace ipex_studio {
namespace {

using Ids = std::vector<std::int64_t>;

constexpr int kTurns = 2;  // of each form

Ids promptOf(const GenerateRequest& request) {
  if (request.prompt_path.empty()) return request.prompt;
  const NamedInputs file = readNamedInputs(request.prompt_path);
  const bool tensor = file.values.size() == 1 && file.values.front().isTensor();
  if (!tensor || !at::isIntegralType(file.values.front().toTensor().scalar_type(), false) ||
      file.values.front().toTensor().numel() == 0) {
    throw Error(ExitCode::kUsage, fmt::format("--prompt-file {}: it has to hold one tensor of integers, the token ids.",
                                              request.prompt_path));
  }
  const at::Tensor ids = file.values.front().toTensor().to(at::kLong).contiguous();
  if (ids.dim() > 1 && ids.size(-1) != ids.numel())
    throw Error(ExitCode::kUsage, fmt::format("--prompt-file {}: it holds several texts; generate goes on with one.",
                                              request.prompt_path));
  return Ids(ids.data_ptr<std::int64_t>(), ids.data_ptr<std::int64_t>() + ids.numel());
}

// Examples that the user gave: those of --inputs in order, where no --input names the argument.
std::vector<InputSpec> givenSpecs(const torch::jit::Module& module, const EngineJob& job) {
  std::vector<InputSpec> specs = parseInputSpecs(job.inputs);
  if (job.inputs_path.empty()) return specs;
  const std::vector<ArgumentRecord> arguments = inputSignature(module);
  const NamedInputs file = readNamedInputs(job.inputs_path);
  for (std::size_t v = 0; v < file.values.size(); ++v) {
    InputSpec spec;
    spec.name = file.names[v].empty() && v < arguments.size() ? arguments[v].name : file.names[v];
    spec.fixed = file.values[v];
    const bool named =
        std::any_of(specs.begin(), specs.end(), [&](const InputSpec& other) { return other.name == spec.name; });
    if (!named) specs.push_back(std::move(spec));
  }
  return specs;
}

const char* cacheName(CacheForm form) {
  return form == CacheForm::kNone ? "none" : form == CacheForm::kGrows ? "grows" : "fixed";
}

class GenerateJob {
 public:
  GenerateJob(const EngineJob& job, Channel& channel)
      : job_(job), channel_(channel), model_(load()), prompt_(promptOf(job.generate)) {
    options_ = job.generate;
    form_ = findDecodeForm(model_.module(), givenSpecs(model_.module(), job), options_.roles, prompt_, options_.beams,
                           job.measure.seed);
    requireTokens("--eos", options_.eos, form_.vocabulary);
  }

  GenerationRecord run() {
    if (keepsState(model_.module()))
      throw Error(
          ExitCode::kUnsupported,
          "The model keeps its cache, or other state, to itself between calls; generate needs one that takes and "
          "returns it.");
    original_ = freezeBaseline(model_.module(), job_.optimize.preserved_methods);
    optimize();
    channel_.progress("write", 0.5);
    const GeneratedText text = write(optimized_.module);
    GenerationRecord record = describe();
    compare(text, record);
    time(record);
    return record;
  }

 private:
  Model load() {
    channel_.progress("load", 0);
    Model model = loadModel(job_);
    for (const std::string& note : model.notes()) channel_.log(note);
    return model;
  }

  // The example is a step behind the prompt, since most steps are alike.
  void optimize() {
    Decoder decoder(original_, form_);
    const at::Tensor scores = decoder.begin(prompt_);
    if (options_.beams > 1) decoder.reorder(Ids(static_cast<std::size_t>(options_.beams), 0));
    const Inputs example =
        decoder.nextInputs(Ids(static_cast<std::size_t>(options_.beams), scores[0].argmax().item<std::int64_t>()));
    channel_.progress("optimize", 0.1);
    useJobDevice(job_);
    OptimizeOptions options = job_.optimize;
    options.quantization_recipe = ownRecipe(options.quantization_recipe, model_.module(), example, options);
    Observer silent;
    optimized_ = optimizeModel(model_.module(), example, options, silent);
    channel_.progress("first run", 0.3);
    const TuningWatch watch(optimized_.tuning, channel_);
    eliminateSlowRegions(optimized_, example, options, silent);
    Decoder(optimized_.module, form_).begin(prompt_);
  }

  GeneratedText write(const torch::jit::Module& module) {
    Decoder decoder(module, form_);
    std::int64_t written = 0;
    try {
      return generate(decoder, prompt_, options_, job_.measure.seed, [&](std::int64_t tokens) { written = tokens; });
    } catch (const Error& problem) {
      if (written == 0) throw;
      throw Error(
          problem.code(),
          fmt::format("Behind {} new tokens the model fails, as where its context is full (--max-new {} ends the "
                      "text before): {}",
                      written, written, problem.what()));
    }
  }

  GenerationRecord describe() const {
    GenerationRecord record;
    record.prompt = prompt_;
    record.beams = options_.beams;
    record.strategy = options_.beams > 1 ? "beam search" : options_.temperature > 0 ? "sampling" : "greedy";
    record.cache = cacheName(form_.cache);
    record.remarks = form_.remarks;
    return record;
  }

  // Gives the original the same text, and for beams lets it search, too.
  void compare(const GeneratedText& text, GenerationRecord& record) {
    channel_.progress("compare with the original", 0.6);
    Decoder original(original_, form_), optimized(optimized_.module, form_);
    const auto on = [&](const Ids& ids) {
      return compareOnText(original, optimized, prompt_, ids, options_, job_.measure.seed, accuracyRule(job_));
    };
    const TextAgreement agreement = on(text.ids);
    record.pass = agreement.worst.pass;
    record.accuracy = agreement.worst.text;
    record.max_difference = agreement.max_difference;
    record.other_choices = agreement.other_choices;
    record.closest_choice = agreement.closest_choice;
    if (options_.beams > 1) compareSearches(text, agreement.log_probability, record);
    record.same_ids = record.other_choices == 0;
  }

  void compareSearches(const GeneratedText& text, double log_probability, GenerationRecord& record) {
    const GeneratedText own = write(original_);
    if (own.ids == text.ids) return;
    double own_log_probability = 0;
    for (const double value : own.log_probabilities) own_log_probability += value;
    const std::size_t longer = std::max(own.ids.size(), text.ids.size());
    for (std::size_t i = 0; i < longer; ++i)
      record.other_choices += i >= own.ids.size() || i >= text.ids.size() || own.ids[i] != text.ids[i] ? 1 : 0;
    record.closest_choice = std::abs(own_log_probability - log_probability);
  }

  // The forms write by turns, once both are warm.
  void time(GenerationRecord& record) {
    std::vector<GeneratedText> original, optimized;
    const int rounds = options_.compare ? kTurns : 1;
    for (int round = 0; round < rounds; ++round) {
      channel_.progress("time", 0.8 + 0.2 * round / rounds, true);
      if (options_.compare) original.push_back(write(original_));
      optimized.push_back(write(optimized_.module));
    }
    if (options_.compare) record.forms.push_back(describeTexts("original", original));
    record.forms.push_back(describeTexts("optimized", optimized));
  }

  const EngineJob& job_;
  Channel& channel_;
  Model model_;
  Ids prompt_;
  GenerateRequest options_;
  DecodeForm form_;
  torch::jit::Module original_;
  OptimizedModel optimized_;
};

}  // namespace

void runGenerateJob(const EngineJob& job, Channel& channel) {
  GenerateJob generation(job, channel);
  channel.send({{"type", "result"}, {"generation", toJson(generation.run())}});
}

}  // namespace ipex_studio
