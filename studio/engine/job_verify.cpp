// Compares a module with the original over all sequences of inputs.
#include "studio/engine/job_verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/base/error.h"
#include "core/model/module_state.h"
#include "core/verify/further_inputs.h"
#include "studio/engine/jobs.h"

namespace ipex_studio {
namespace {

constexpr double kFurther_s = 10;       // time that comparing on further inputs may take, if they are more than these
constexpr std::size_t kMinFurther = 3;  // inputs
constexpr double kRunsPerComparison = 10;  // FP32, FP64 and making and running plans for new sizes, in runs of a model

// Below FP32 rounding differs from input to input, and a user judges it by the inputs that were given. The further ones
// are there to find facts of the example that became constants, which are off by more.
constexpr double kFurtherAllowance = 4;

// Inputs without more than fit into the time.
void keepInTime(FurtherInputsSearch& search) {
  const double each_s = 1e-9 * static_cast<double>(search.run_ns) * kRunsPerComparison;
  const auto fit = each_s > 0 ? static_cast<std::size_t>(kFurther_s / each_s) : search.found.size();
  search.found.resize(std::min(search.found.size(), std::max(fit, kMinFurther)));
}

// `compared`: so many of the inputs, those that stand first.
std::string triedText(const FurtherInputsSearch& search, std::size_t compared) {
  std::vector<std::string> texts;
  for (std::size_t f = 0; f < compared; ++f) texts.push_back(search.found[f].text);
  std::string text = texts.empty() ? "The model takes no inputs but these, as far as was tried"
                                   : fmt::format("Results were also compared on {}", fmt::join(texts, "; "));
  if (search.ways > 0)
    text += fmt::format(" ({} of {} ways through branches and loops were taken)", search.ways_taken, search.ways);
  return text + ".";
}

}  // namespace

AccuracyRule accuracyRule(const EngineJob& job) { return {job.optimize.precision, job.optimize.min_cosine}; }

bool keepsState(const torch::jit::Module& module) {
  try {
    return !ModuleState(freezeForPasses(module, {})).empty();
  } catch (const std::exception&) {
    return true;
  }
}

AccuracyRecord worstAccuracy(const EngineJob& job, const AccuracyRule& rule, const JobInputs& inputs, bool stateful,
                             const std::vector<ReferenceResults>& references, torch::jit::Module& candidate,
                             std::vector<std::string>* remarks, std::vector<Inputs>* failing) {
  const std::string& reset_method = job.reset_method;
  const auto sequences = inputs.verificationSequences(stateful);
  std::optional<Model> original;
  if (references.size() != sequences.size()) original = loadModel(job);
  AccuracyRecord worst;
  std::map<std::int32_t, std::string> near_jumps;  // by output
  bool first = true;
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    const ReferenceResults reference =
        original ? referenceResults(original->module(), sequences[s], reset_method) : references[s];
    if (remarks != nullptr && s == 0) *remarks = remarksOn(reference);
    for (const AccuracyRecord& record : verifyModule(reference, candidate, sequences[s], reset_method, rule)) {
      if (record.output != -1) {
        if (differsNearJumps(record)) near_jumps[record.output] = record.text;
        continue;
      }
      if (first || (worst.pass && !record.pass) || (worst.pass == record.pass && record.max_rel > worst.max_rel)) {
        worst = record;
        if (failing != nullptr && !record.pass) *failing = sequences[s];
      }
      first = false;
    }
  }
  IPEX_CHECK(!first, "verifyModule compared nothing");
  if (remarks != nullptr) {
    for (const auto& [output, text] : near_jumps) remarks->push_back(fmt::format("Of result {}, {}.", output, text));
  }
  return worst;
}

FurtherAccuracy furtherAccuracy(const EngineJob& job, const AccuracyRule& rule, const JobInputs& inputs, bool stateful,
                                torch::jit::Module& candidate) {
  Model original = loadModel(job);
  FurtherInputsSearch search = findFurtherInputs(original.module(), inputs.example());
  keepInTime(search);
  FurtherAccuracy accuracy;
  std::string refused;
  std::size_t compared = 0;
  for (const FurtherInputs& further : search.found) {
    ++compared;
    const std::vector<Inputs> steps(stateful ? 2 : 1, further.inputs);
    const ReferenceResults reference = referenceResults(original.module(), steps, job.reset_method);
    AccuracyRecord record;
    try {
      record =
          verifyModule(reference, candidate, steps, job.reset_method, rule.withAllowance(kFurtherAllowance)).front();
    } catch (const Error& problem) {
      // A sentence instead of a result: ranks and types are those of the example.
      if (problem.code() == ExitCode::kUsage) {
        refused += fmt::format(" The optimized model refuses {}: its values have another rank or type.", further.text);
        continue;
      }
      record.pass = false;
      record.text = fmt::format("the model takes these inputs and the optimized one fails: {}", problem.what());
    }
    if (record.pass) continue;
    record.text = fmt::format("with {}: {}", further.text, record.text);
    accuracy.worst = std::move(record);
    accuracy.failing = steps;
    break;
  }
  accuracy.tried = triedText(search, compared) + refused;
  return accuracy;
}

std::vector<std::string> remarksOn(const ReferenceResults& reference) {
  std::vector<std::string> remarks;
  if (reference.random.matter) {
    remarks.push_back(
        fmt::format("The model draws random numbers: with others its results differ by up to {:.2g} from its own, so "
                    "they were compared with the same numbers on both sides.",
                    reference.random.spread));
  }
  if (reference.precision == Precision::kBf16 || reference.precision == Precision::kFp16) {
    const std::string name = reference.precision == Precision::kBf16 ? "BF16" : "FP16";
    remarks.push_back(
        fmt::format("The model computes in {} itself, so its results are judged as those of {}.", name, name));
  }
  return remarks;
}

}  // namespace ipex_studio
