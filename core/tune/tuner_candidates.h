// Prepares every way to compute a step. Private to the tuner.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/op/kernel.h"
#include "core/record/tuning_store.h"

namespace ipex_studio {

// One prepared operation of a candidate.
struct CandidatePart {
  std::shared_ptr<const PreparedOp> op;
  std::vector<std::int32_t> src;  // sources of the step; -1: the result of the part before
  std::vector<bool> src_dies;
};

// A kernel, and a pointwise step for the post-operations that it leaves.
struct Candidate {
  TuningCandidate record;
  std::vector<CandidatePart> parts;
  std::shared_ptr<WeightCache> weights;  // its own, so that a loser's packed weights go with it
  std::vector<TensorDesc> src;           // layout read, per source of the step; absent where unread or constant
  TensorDesc dst;
};

struct CandidateSet {
  std::vector<Candidate> candidates;  // those of the default kernel first
  std::vector<TuningCandidate> declined;
  std::size_t defaults = 0;  // how many are the default kernel's, one per layout
};

bool isWinograd(const TuningCandidate& candidate);

// Prepares all candidates of a step. `layouts`: names (layout_text.h) of the layouts in which sources of rank >= 3 are
// offered, besides those in which they come.
CandidateSet prepareCandidates(const PrepareArgs& args, const KernelList& kernels,
                               const std::vector<std::string>& layouts, bool allow_winograd);

// Prepares the candidate of this record again; empty where that fails.
std::optional<Candidate> prepareAgain(const PrepareArgs& args, const KernelList& kernels,
                                      const TuningCandidate& record);

// Arguments for kernels that are asked for a conversion of an activation between two layouts.
PrepareArgs conversionArgs(const TensorDesc& from, const TensorDesc& to, const Target& target);

// True if results of this type can be compared.
bool isMeasurable(DType dtype);
// True if the step can be measured: false if values decide what is read, or if types cannot be compared.
bool isMeasurable(const PrepareArgs& args);

}  // namespace ipex_studio
