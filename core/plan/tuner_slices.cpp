#include "core/plan/tuner_slices.h"

#include <algorithm>
#include <vector>

#include "core/plan/batch_rows.h"
#include "core/plan/tuner_compare.h"
#include "core/plan/tuner_key.h"

namespace ipex_studio {
namespace {

// Halves, quarters … of a batch down to a 32nd.
constexpr int kMostHalvings = 5;
// Slices have to gain this much of the whole batch's time.
constexpr double kLeastSliceGain = 0.03;
// What is slower than the best by this does not run again.
constexpr double kHopeless = 1.1;
constexpr int kMostRounds[] = {4, 12};  // quick, full

// A number of samples, on its way through the batch.
struct Contender {
  std::int64_t samples = 0;
  std::int64_t count = 1;        // of slices
  std::unique_ptr<TimedPlan> plan;
  std::int64_t next = 0;         // slice that runs next
  std::int64_t last_run_ns = 0;  // wall time
  double batch_ns() const { return plan->total_ns() * static_cast<double>(count); }
};

class SliceBench {
 public:
  SliceBench(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels, WeightCache& weights, const SliceSearch& search)
      : spec_(spec), request_(request), kernels_(kernels), weights_(weights), search_(search), deadline_ns_(search.clock_ns() + search.budget_ns) {
    for (const TensorDesc& input : request.tensor_inputs) inputs_.push_back(static_cast<const char*>(memory_.take(input.absent() ? 0 : input.bytes())));
  }

  // From few samples to the whole batch, as far as time allows; at least two.
  void run(const std::vector<std::shared_ptr<const BatchSlices>>& proven) {
    slices_ = proven.front();
    for (const auto& slices : proven) {
      if (!addIfTime(slices->samples, slices->count())) return;
    }
    if (!addIfTime(slices_->batch, 1)) return;
    for (int round = 1; round < kMostRounds[search_.effort > 1 ? 1 : 0]; ++round) {
      const double limit_ns = kHopeless * best()->batch_ns();
      for (Contender& contender : contenders_) {
        if (contender.batch_ns() > limit_ns) continue;
        if (search_.clock_ns() + 2 * contender.last_run_ns > deadline_ns_) return;
        measure(contender, contender.count > 1 ? 2 : 1);
      }
    }
  }

  // Null: nothing beats the whole batch, as far as is known.
  const Contender* chosen() const {
    const auto least = best();
    const Contender& last = contenders_.back();
    if (&*least == &last) return nullptr;
    const bool is_whole = last.count == 1;
    return is_whole && least->batch_ns() > (1 - kLeastSliceGain) * last.batch_ns() ? nullptr : &*least;
  }
  const std::vector<Contender>& contenders() const { return contenders_; }

 private:
  std::vector<Contender>::const_iterator best() const {
    return std::min_element(contenders_.begin(), contenders_.end(), [](const Contender& a, const Contender& b) { return a.batch_ns() < b.batch_ns(); });
  }

  bool addIfTime(std::int64_t samples, std::int64_t count) {
    if (contenders_.size() >= 2) {
      const Contender& before = contenders_.back();
      if (search_.clock_ns() + 2 * before.last_run_ns * samples / before.samples > deadline_ns_) return false;
    }
    Contender fresh;
    fresh.samples = samples;
    fresh.count = count;
    fresh.plan = std::make_unique<TimedPlan>(spec_, withSamples(request_, slices_->inputs, samples), kernels_, weights_);
    measure(fresh, 2);
    contenders_.push_back(std::move(fresh));
    return true;
  }

  // Of two slices one after the other the second finds in the caches what the first left there, as in a batch. The first run
  // of all finds no memory behind its addresses yet.
  void measure(Contender& contender, int turns) {
    std::vector<void*> outputs = outputsFor(*contender.plan);
    for (int turn = 0; turn < turns; ++turn) {
      const std::int64_t sample = std::min(contender.next * contender.samples, slices_->batch - contender.samples);
      contender.next = (contender.next + 1) % contender.count;
      std::vector<const void*> inputs(inputs_.begin(), inputs_.end());
      for (std::size_t i = 0; i < inputs_.size(); ++i) {
        const TensorDesc& desc = request_.tensor_inputs[i];
        if (slices_->inputs[i]) inputs[i] = inputs_[i] + sample * desc.strides[0] * static_cast<std::int64_t>(elementBytes(desc.dtype));
      }
      const std::int64_t begin = search_.clock_ns();
      contender.plan->run(inputs.data(), outputs.data(), search_.clock_ns);
      contender.last_run_ns = search_.clock_ns() - begin;
    }
  }

  // Results may overwrite each other; those of the largest so far fit all.
  std::vector<void*> outputsFor(const TimedPlan& plan) {
    outputs_.resize(plan.outputs().size());
    std::vector<void*> pointers;
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
      const std::size_t bytes = plan.outputs()[o].bytes();
      if (outputs_[o].data() == nullptr || outputs_[o].bytes() < bytes) outputs_[o] = AlignedBuffer(std::max<std::size_t>(bytes, 1));
      pointers.push_back(outputs_[o].data());
    }
    return pointers;
  }

  const PlanSpec& spec_;
  const PlanRequest& request_;
  const KernelList& kernels_;
  WeightCache& weights_;
  const SliceSearch& search_;
  const std::int64_t deadline_ns_;
  std::shared_ptr<const BatchSlices> slices_;  // any: inputs and batch are the same for all
  ZeroedMemory memory_;
  std::vector<const char*> inputs_;
  std::vector<AlignedBuffer> outputs_;
  std::vector<Contender> contenders_;
};

// Ascending; empty where nothing is proven.
std::vector<std::shared_ptr<const BatchSlices>> provenSizes(const PlanSpec& spec, const PlanRequest& request) {
  std::vector<std::shared_ptr<const BatchSlices>> proven;
  std::int64_t samples = batchOf(request);
  for (int halving = 0; halving < kMostHalvings && samples > 1; ++halving) {
    samples = (samples + 1) / 2;
    auto slices = proveSlices(spec, request, samples);
    if (!slices) break;
    proven.insert(proven.begin(), std::move(slices));
  }
  return proven;
}

TuningEntry entryOf(const std::string& name, std::int32_t effort, const std::vector<Contender>& contenders, std::int64_t chosen_samples) {
  TuningEntry entry{name, effort, {}};
  for (const Contender& contender : contenders) {
    TuningCandidate candidate;
    candidate.node = static_cast<std::int32_t>(contender.samples);
    candidate.kernel = "plan";
    candidate.elapsed_ns = static_cast<std::int64_t>(contender.batch_ns());
    const bool is_chosen = contender.samples == chosen_samples;
    candidate.reason = is_chosen ? "" : "slower";
    entry.candidates.insert(is_chosen ? entry.candidates.begin() : entry.candidates.end(), std::move(candidate));
  }
  return entry;
}

}  // namespace

SliceChoice chooseSlices(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels, TuningStore& store, WeightCache& weights,
                         const TuningKey& key, const SliceSearch& search) {
  if (batchOf(request) < 2) return {};
  const std::string name = "slices of " + planText(spec, request, kernels, search.allow_winograd);
  if (const auto known = store.find(key, name, search.effort)) {
    const bool decided = !known->candidates.empty() && known->candidates[0].reason.empty();
    return {decided ? proveSlices(spec, request, known->candidates[0].node) : nullptr, known};
  }
  if (!search.may_measure) return {};
  const auto proven = provenSizes(spec, request);
  if (proven.empty()) return {};
  SliceBench bench(spec, request, kernels, weights, search);
  bench.run(proven);
  const Contender* chosen = bench.chosen();
  const std::int64_t samples = chosen != nullptr ? chosen->samples : batchOf(request);
  TuningEntry entry = entryOf(name, search.effort, bench.contenders(), samples);
  store.put(key, entry);
  return {proveSlices(spec, request, samples), std::move(entry)};
}

}  // namespace ipex_studio
