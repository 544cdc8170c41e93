// Verifies that a rewritten model still computes what the original does.
#pragma once

#include <string>
#include <vector>

#include "core/model/verify.h"
#include "studio/engine/job_inputs.h"

namespace ipex_studio {

// The worst record over all sequences of calls that the inputs stand for. `references`: results of each sequence;
// without them they are computed on an original that is loaded afresh, so that state and memory of the model that is
// timed stay as they are. Throws what running throws.
AccuracyRecord worstAccuracy(const EngineJob& job, const AccuracyRule& rule, const JobInputs& inputs,
                             const std::vector<ReferenceResults>& references, torch::jit::Module& candidate);

}  // namespace ipex_studio
