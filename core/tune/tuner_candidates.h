// Every way to compute a step, prepared. Private to the tuner.
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
  std::vector<std::int32_t> src;  // which source of the step; -1: the result of the part before
  std::vector<bool> src_dies;
};

// A kernel, and a pointwise step for the post-operations it leaves.
struct Candidate {
  TuningCandidate record;
  std::vector<CandidatePart> parts;
  std::shared_ptr<WeightCache> weights;  // its own, so that a loser's packed weights go with it
  std::vector<TensorDesc> src;           // what it reads, per source of the step; absent where it reads nothing
  TensorDesc dst;
};

struct CandidateSet {
  std::vector<Candidate> candidates;  // those of the default kernel first
  std::vector<TuningCandidate> declined;
  std::size_t defaults = 0;  // how many are the default kernel's, each for other layouts
};

bool isWinograd(const TuningCandidate& candidate);

// `layouts`: names (layout_text.h) that sources of rank >= 3 are offered in, besides as they come.
CandidateSet prepareCandidates(const PrepareArgs& args, const KernelList& kernels,
                               const std::vector<std::string>& layouts, bool allow_winograd);

// The candidate of this record, prepared again; nothing where that fails.
std::optional<Candidate> prepareAgain(const PrepareArgs& args, const KernelList& kernels,
                                      const TuningCandidate& record);

// A conversion between two layouts of an activation.
PrepareArgs conversionArgs(const TensorDesc& from, const TensorDesc& to, const Target& target);

// True if results of this type can be compared.
bool isMeasurable(DType dtype);
// True if the step can be measured: false if values decide what is read, or if types cannot be compared.
bool isMeasurable(const PrepareArgs& args);

}  // namespace ipex_studio
