// Verifies that a rewritten model still computes what the original does.
#pragma once

#include <string>
#include <vector>

#include "core/verify/verify.h"
#include "studio/engine/job_inputs.h"

namespace ipex_studio {

// The rule that the job asks for.
AccuracyRule accuracyRule(const EngineJob& job);

// True if the model writes to its attributes. A model that cannot be frozen counts as one that does, since several
// calls in sequence are right for any.
bool keepsState(const torch::jit::Module& module);

// The worst record over all sequences of calls that the inputs stand for, each from the state that the candidate has
// and gets back. `stateful`: it keeps state between calls. `references`: results of each sequence; without them they
// are computed on an original that is loaded afresh, so that state and memory of the model that is timed stay as they
// are. `remarks` (may be null) gets sentences on what decided the way of comparing, `failing` the calls of that record
// if it does not pass. Throws what running throws.
AccuracyRecord worstAccuracy(const EngineJob& job, const AccuracyRule& rule, const JobInputs& inputs, bool stateful,
                             const std::vector<ReferenceResults>& references, torch::jit::Module& candidate,
                             std::vector<std::string>* remarks = nullptr, std::vector<Inputs>* failing = nullptr);

// What decided the way of comparing with these results; empty if they are compared as those of any model in FP32.
std::vector<std::string> remarksOn(const ReferenceResults& reference);

// What comparing on inputs beside the example's (core/verify/further_inputs.h) gave.
struct FurtherAccuracy {
  AccuracyRecord worst;         // passes if nothing was found to compare on
  std::string tried;            // what was tried, as a sentence
  std::vector<Inputs> failing;  // calls in sequence of the worst record; empty if it passes
};
// An input on which only `candidate` fails is a difference, too. Throws what verifyModule throws.
FurtherAccuracy furtherAccuracy(const EngineJob& job, const AccuracyRule& rule, const JobInputs& inputs, bool stateful,
                                torch::jit::Module& candidate);

}  // namespace ipex_studio
