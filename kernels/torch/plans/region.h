// Region: a static part of a graph as one TorchScript object. `ipex_studio::region(region, tensors, sizes)` runs it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <torch/custom_class.h>
#include <torch/script.h>

#include "core/plan/value_source.h"
#include "kernels/torch/plans/integer_inputs.h"
#include "kernels/torch/plans/original_code.h"
#include "kernels/torch/plans/plan_cache.h"

namespace ipex_studio {

// Saved as (plan text, constants, library version, tuning record, batch buckets, text and tensors of the original code,
// the way to meet new sizes, length buckets). Prepared state is never saved: it is made for the machine that loads,
// which ignores choices measured on other machines.
class Region : public torch::CustomClassHolder, public ValueSource {
 public:
  using State = std::tuple<std::string, std::vector<at::Tensor>, std::string, std::string, std::vector<std::int64_t>,
                           std::string, std::vector<at::Tensor>, std::string, std::vector<std::int64_t>>;
  // The state read from a file, without buckets, original code and way to meet new sizes if it has none; throws
  // Error(kBadModel) when it was written by a version that kept something else.
  static State stateFrom(const c10::IValue& saved);

  // Throws Error(kBadModel) when the text or the constants are damaged.
  Region(const std::string& plan_text, std::vector<at::Tensor> constants);

  // Computes the results, one for each output of the plan: by a plan, else by the original code. That runs at sizes for
  // which no plan is worth preparing yet (kernels/torch/plans/new_sizes.h), where no plan can take the sizes of the
  // inputs, which is remembered, and where a step refuses their values, so that the error is the one that the original
  // raises. Inputs are never written to. Inputs of other types or ranks than those that the model was optimized with
  // throw Error(kFailure): what was rewritten around them relies on those; but int32 and int64 stand for each other
  // where only their values count (kernels/torch/plans/integer_inputs.h). Without original code every refusal throws.
  void run(c10::ArrayRef<const at::Tensor*> tensors, at::IntArrayRef sizes, at::Tensor* results);

  // To be called before the first run.
  void setOriginalCode(const std::string& text, std::vector<at::Tensor> tensors);

  // `mode`: a name of NewSizesMode, or others, which stand for the default; for regions that are saved, and with
  // `from_now_on` for this one, which must not run yet. One without original code, or that computes below FP32, where
  // that code rounds differently, prepares at once whatever it says.
  void setNewSizes(const std::string& mode, bool from_now_on);

  PlanCache& plans() { return plans_; }
  // True if the tensors hold integers of the plan's own types, so that plans may take them as they are.
  bool takesAsGiven(c10::ArrayRef<const at::Tensor*> tensors) const { return integers_.fit(tensors); }
  State state() const;
  void readTuning(const std::string& record) { plans_.readTuning(record); }
  void setPrepared(std::vector<std::shared_ptr<const PreparedWeights>> files) { plans_.setPrepared(std::move(files)); }
  // The weights packed so far in a form that TorchScript can hand on: their purpose (preparedMachine,
  // PreparedRegion::id), constant, its
  // CRC and offset of each, form of each, bytes of each.
  using Packed = std::tuple<std::string, std::string, std::vector<std::int64_t>, std::vector<std::string>,
                            std::vector<at::Tensor>>;
  Packed packed() const;
  // Throws Error(kBadModel) when they are not ascending numbers from 1 to PlanCache::kMaxBatch.
  void setBatchBuckets(std::vector<std::int64_t> buckets) { plans_.setBatchBuckets(std::move(buckets)); }
  void setLengthBuckets(std::vector<std::int64_t> buckets) { plans_.setLengthBuckets(std::move(buckets)); }
  void setTuning(const c10::intrusive_ptr<Tuning>& tuning) { plans_.setTuning(tuning); }

  void setValueHook(ValueHook hook) override { plans_.setValueHook(std::move(hook)); }
  const PlanSpec& planSpec() const override { return plans_.spec(); }

  // From start to stop every run records its steps. stop returns them as JSON: {"steps": [StepRecord], "dispatches":
  // [DispatchRecord], "begin_ns": [per step [per run]], "elapsed_ns": likewise}, steady clock; "{}" when nothing ran.
  // Original code is one step whose kernel is kOriginalCodeKernel (core/record/original_code_step.h), with the reason
  // among its dispatches. Not while other threads run the region.
  void startProfile();
  std::string stopProfile();

 private:
  void runPlanned(c10::ArrayRef<const at::Tensor*> tensors, at::IntArrayRef sizes, at::Tensor* results);
  void runOtherIntegers(c10::ArrayRef<const at::Tensor*> tensors, at::IntArrayRef sizes, at::Tensor* results);
  std::vector<at::Tensor> computeOriginal(c10::ArrayRef<const at::Tensor*> tensors, at::IntArrayRef sizes);
  bool runBeforePlan(c10::ArrayRef<const at::Tensor*> tensors, at::IntArrayRef sizes, at::Tensor* results);
  void runOriginalCode(c10::ArrayRef<const at::Tensor*> tensors, at::IntArrayRef sizes, at::Tensor* results,
                       const std::string& why);
  void recordOriginalCode(const at::Tensor& result, const std::string& why, std::int64_t begin_ns,
                          std::int64_t elapsed_ns);

  PlanCache plans_;
  IntegerInputs integers_;
  NewSizesMode new_sizes_ = NewSizesMode::kReturning;  // of saved ones
  std::unique_ptr<OriginalCode> original_code_;        // null: unknown
  std::atomic<bool> warned_{false};
  std::shared_ptr<PlanProfile> profile_;
};

}  // namespace ipex_studio
