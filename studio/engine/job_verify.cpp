// Compares a module with the original over all sequences of inputs.
#include "studio/engine/job_verify.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "core/base/error.h"
#include "studio/engine/jobs.h"

namespace ipex_studio {

AccuracyRecord worstAccuracy(const AccuracyRule& rule, const JobInputs& inputs, bool stateful,
                             const std::vector<ReferenceResults>& references, const std::string& reset_method,
                             torch::jit::Module& candidate, std::vector<std::string>* remarks) {
  const auto sequences = inputs.verificationSequences(stateful);
  std::optional<Model> original;
  if (references.size() != sequences.size()) original = Model::load(kEngineModelPath);
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
