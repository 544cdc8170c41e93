// Compares a module with the original over all sequences of inputs.
#include "studio/engine/job_verify.h"

#include <optional>

#include "core/base/error.h"
#include "studio/engine/jobs.h"

namespace ipex_studio {

AccuracyRecord worstAccuracy(const EngineJob& job, const AccuracyRule& rule, const JobInputs& inputs,
                             const std::vector<ReferenceResults>& references, torch::jit::Module& candidate) {
  const std::string& reset_method = job.reset_method;
  const auto sequences = inputs.verificationSequences(!reset_method.empty());
  std::optional<Model> original;
  if (references.size() != sequences.size()) original = Model::load(kEngineModelPath, job.method);
  AccuracyRecord worst;
  bool first = true;
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    const ReferenceResults reference =
        original ? referenceResults(original->module(), sequences[s], reset_method) : references[s];
    for (const AccuracyRecord& record : verifyModule(reference, candidate, sequences[s], reset_method, rule)) {
      if (record.output != -1) continue;
      if (first || (worst.pass && !record.pass) || (worst.pass == record.pass && record.max_rel > worst.max_rel)) {
        worst = record;
      }
      first = false;
    }
  }
  IPEX_CHECK(!first, "verifyModule compared nothing");
  return worst;
}

}  // namespace ipex_studio
