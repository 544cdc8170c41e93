// Verifies that optimized results are still right: the rule and its verdict. Throws Error(kUsage) if inputs do not
// fit, Error(kFailure) if a model fails while running. Not thread-safe on one candidate.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/record/options.h"
#include "core/verify/reference_results.h"

namespace ipex_studio {

// The rule by which `actual` is compared with the model's own results. Reference: the model converted to FP64 before
// freezing where that is possible, with the bound 2 × eager's own error + 1e-5 · max|ref|; otherwise eager FP32 with
// 1e-4 · max|ref|. Eager's own error is at least what its results move when weights change in their last bits. Below
// FP32 no bound on single elements is meaningful; the direction of each result must hold. A model that computes below
// FP32 itself is judged like that, whatever it was optimized for. Both sides draw the same random numbers; for a model
// whose results depend on them eager FP32 is the reference. Results that the model rounds, compares or takes as places
// of greatest values may be on the other side of a jump that is nearer than the bound.
struct AccuracyRule {
  Precision precision = Precision::kFp32;
  double min_cosine = 0;  // below FP32; 0: 0.9999 in FP16, 0.999 in BF16, 0.99 in INT8

  AccuracyRule() = default;
  AccuracyRule(Precision of, double least = 0) : precision(of), min_cosine(least) {}  // NOLINT: a precision is a rule
  // The least cosine at which a result passes.
  double leastCosine() const;
  // The rule with `factor` times the distance of the least cosine from 1, but never below a cosine of 0. FP32's stays.
  AccuracyRule withAllowance(double factor) const;
};

// Compares all tensors and numbers of a result, in order: sizes and dtypes must agree, integers be equal. `fp64` (may
// be null) is the FP64 reference. Returns one record per tensor output, the worst first with output = -1. A NaN where
// the reference has none fails. Thread-safe.
std::vector<AccuracyRecord> compareOutputs(const torch::jit::IValue& actual, const torch::jit::IValue& eager,
                                           const torch::jit::IValue* fp64, const AccuracyRule& rule = {});

// True if the record passes although elements differ, all of them near a jump.
bool differsNearJumps(const AccuracyRecord& record);

// Returns one record per tensor output as compareOutputs does, of the worst step. The candidate begins with the state
// it has and gets that back.
std::vector<AccuracyRecord> verifyModule(const ReferenceResults& reference, torch::jit::Module& candidate,
                                         const std::vector<Inputs>& steps, const std::string& reset,
                                         const AccuracyRule& rule = {});

// The worst record of verifyModule(); where the candidate fails, one that does not pass and says why.
AccuracyRecord verifyWorst(const ReferenceResults& reference, torch::jit::Module& candidate,
                           const std::vector<Inputs>& steps, const std::string& reset, const AccuracyRule& rule = {});

// Runs `original` (never changed: copies are made) and, where possible, its FP64 copy on `steps`, calls in sequence,
// and `candidate` on the same, each from the state it has; `reset` (may be empty) is called on each first.
std::vector<AccuracyRecord> verifyModule(const torch::jit::Module& original, torch::jit::Module& candidate,
                                         const std::vector<Inputs>& steps, const std::string& reset,
                                         const AccuracyRule& rule = {});

}  // namespace ipex_studio
