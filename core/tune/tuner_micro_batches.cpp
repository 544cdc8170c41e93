// Runs plans for parts of a batch against the plan for all of it.
#include "core/tune/tuner_micro_batches.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/plan/batch_independence.h"
#include "core/tune/tuner_compare.h"

namespace ipex_studio {
namespace {

// Sizes tried: halves, quarters … down to a 32nd of the batch.
constexpr int kMaxHalvings = 5;
// Micro-batches have to gain this much of the whole batch's time.
constexpr double kMinMicroBatchGain = 0.03;
// Whatever the budget, the whole batch is measured if that is expected to take no longer.
constexpr std::int64_t kMinWholeBudget_ns = 300'000'000;
// So many sizes have to be measured to be chosen from without the whole batch.
constexpr std::size_t kMinSizesWithoutWhole = 3;
// A contender that is this much slower than the best does not run again.
constexpr double kHopeless = 1.1;
constexpr int kMaxRounds[] = {4, 12};  // quick, full

using SharedMicroBatches = std::shared_ptr<const MicroBatches>;

struct Contender {
  SharedMicroBatches micro_batches;  // a single one for the whole batch
  std::unique_ptr<TimedPlan> plan;
  std::vector<void*> outputs;
  std::int64_t next = 0;         // micro-batch that runs next
  std::int64_t last_run_ns = 0;  // wall time
  double batch_ns() const { return plan->total_ns() * static_cast<double>(micro_batches->count()); }
};

class SliceBench {
 public:
  SliceBench(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels, WeightCache& weights,
             const SliceSearch& search)
      : spec_(spec),
        request_(request),
        kernels_(kernels),
        weights_(weights),
        search_(search),
        deadline_ns_(search.clock.spent_ns() + search.budget_ns),
        inputs_(memory_.take(request.tensor_inputs)) {}

  // Measures the fewest samples and the whole batch first, if there is time for it; then from few samples on, as far as
  // time allows. Where weights are large, the fewest samples are the worst choice, not a safe one.
  void run(const std::vector<SharedMicroBatches>& sizes) {
    add(sizes.front());
    const std::int64_t end_ns = std::max(deadline_ns_, search_.clock.spent_ns() + kMinWholeBudget_ns);
    if (expectedEnd_ns(*sizes.back()) <= end_ns) add(sizes.back());
    const std::size_t open = sizes.size() - (has_whole_ ? 1 : 0);
    for (std::size_t size = 1; size < open && expectedEnd_ns(*sizes[size]) <= deadline_ns_; ++size) add(sizes[size]);
    for (int round = 1; round < kMaxRounds[search_.effort > 1 ? 1 : 0]; ++round) {
      const double limit_ns = kHopeless * best()->batch_ns();
      for (Contender& contender : contenders_) {
        if (contender.batch_ns() > limit_ns) continue;
        if (search_.clock.spent_ns() + 2 * contender.last_run_ns > deadline_ns_) return;
        measure(contender, contender.micro_batches->count() > 1 ? 2 : 1);
      }
    }
  }

  // The best micro-batches; null: nothing beats the whole batch, as far as is known.
  SharedMicroBatches chosen() const {
    const auto least = best();
    const Contender& last = contenders_.back();
    if (&*least == &last || (!has_whole_ && contenders_.size() < kMinSizesWithoutWhole)) return nullptr;
    return has_whole_ && least->batch_ns() > (1 - kMinMicroBatchGain) * last.batch_ns() ? nullptr
                                                                                        : least->micro_batches;
  }
  const std::vector<Contender>& contenders() const { return contenders_; }

 private:
  std::vector<Contender>::const_iterator best() const {
    return std::min_element(contenders_.begin(), contenders_.end(),
                            [](const Contender& a, const Contender& b) { return a.batch_ns() < b.batch_ns(); });
  }

  // When two runs at this size would end, by the run of the next smaller size.
  std::int64_t expectedEnd_ns(const MicroBatches& micro_batches) const {
    const Contender& before =
        contenders_[contenders_.size() > 1 && has_whole_ ? contenders_.size() - 2 : contenders_.size() - 1];
    return search_.clock.spent_ns() + 2 * before.last_run_ns * micro_batches.samples / before.micro_batches->samples;
  }

  // Keeps contenders in the order of their samples.
  void add(const SharedMicroBatches& micro_batches) {
    Contender fresh;
    fresh.micro_batches = micro_batches;
    fresh.plan = std::make_unique<TimedPlan>(
        spec_, withSamples(request_, micro_batches->inputs, micro_batches->samples), kernels_, weights_);
    fresh.outputs = memory_.take(fresh.plan->outputs());
    measure(fresh, 2);
    const auto place = std::find_if(contenders_.begin(), contenders_.end(), [&](const Contender& contender) {
      return contender.micro_batches->samples > micro_batches->samples;
    });
    contenders_.insert(place, std::move(fresh));
    has_whole_ = has_whole_ || micro_batches->count() == 1;
  }

  // Successive micro-batches find in the caches what the one before left there, as they do within a batch. A fresh
  // contender takes two rounds, since its first run also pays for page faults; the last one counts.
  void measure(Contender& contender, int rounds) {
    const MicroBatches& micro_batches = *contender.micro_batches;
    for (int turn = 0; turn < rounds; ++turn) {
      const std::int64_t sample = micro_batches.firstSample(contender.next);
      contender.next = (contender.next + 1) % micro_batches.count();
      std::vector<const void*> inputs(inputs_.begin(), inputs_.end());
      for (std::size_t i = 0; i < inputs_.size(); ++i) {
        if (micro_batches.inputs[i])
          inputs[i] = static_cast<const char*>(inputs_[i]) + sample * request_.tensor_inputs[i].rowBytes();
      }
      const std::int64_t begin = search_.clock.now_ns();
      contender.plan->run(inputs.data(), contender.outputs.data(), search_.clock.now_ns);
      contender.last_run_ns = search_.clock.now_ns() - begin;
    }
  }

  const PlanSpec& spec_;
  const PlanRequest& request_;
  const KernelList& kernels_;
  WeightCache& weights_;
  const SliceSearch& search_;
  const std::int64_t deadline_ns_;
  ZeroedMemory memory_;
  const std::vector<void*> inputs_;  // of the batch
  std::vector<Contender> contenders_;
  bool has_whole_ = false;  // the last contender is the whole batch
};

// Proven sizes, ascending, the last being the whole batch; empty where none is proven.
std::vector<SharedMicroBatches> provenSizes(const PlanSpec& spec, const PlanRequest& request) {
  std::vector<SharedMicroBatches> proven;
  std::int64_t samples = batchOf(request);
  for (int halving = 0; halving < kMaxHalvings && samples > 1; ++halving) {
    samples = (samples + 1) / 2;
    SharedMicroBatches micro_batches = proveMicroBatches(spec, request, samples);
    if (!micro_batches) break;
    proven.insert(proven.begin(), std::move(micro_batches));
  }
  if (proven.empty()) return proven;
  MicroBatches whole = *proven.front();
  whole.samples = whole.batch;
  proven.push_back(std::make_shared<const MicroBatches>(std::move(whole)));
  return proven;
}

TuningEntry entryOf(const std::string& name, std::int32_t effort, const std::vector<Contender>& contenders,
                    std::int64_t chosen_samples) {
  TuningEntry entry{name, effort, {}};
  for (const Contender& contender : contenders) {
    TuningCandidate candidate;
    candidate.node = static_cast<std::int32_t>(contender.micro_batches->samples);
    candidate.kernel = "plan";
    candidate.elapsed_ns = static_cast<std::int64_t>(contender.batch_ns());
    const bool is_chosen = contender.micro_batches->samples == chosen_samples;
    candidate.reason = is_chosen ? "" : "slower";
    entry.candidates.insert(is_chosen ? entry.candidates.begin() : entry.candidates.end(), std::move(candidate));
  }
  return entry;
}

}  // namespace

MicroBatchChoice chooseMicroBatches(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels,
                                    TuningStore& store, WeightCache& weights, const TuningKey& key,
                                    const std::string& plan_name, const SliceSearch& search) {
  if (batchOf(request) < 2) return {};
  const std::string name = "slices of " + plan_name;
  if (const auto known = store.find(key, name, search.effort)) {
    const bool decided = !known->candidates.empty() && known->candidates[0].reason.empty();
    return {decided ? proveMicroBatches(spec, request, known->candidates[0].node) : nullptr, known};
  }
  if (!search.may_measure) return {};
  const std::vector<SharedMicroBatches> sizes = provenSizes(spec, request);
  if (sizes.empty()) return {};
  SliceBench bench(spec, request, kernels, weights, search);
  bench.run(sizes);
  SharedMicroBatches chosen = bench.chosen();
  TuningEntry entry = entryOf(name, search.effort, bench.contenders(), chosen ? chosen->samples : batchOf(request));
  store.put(key, entry);
  return {std::move(chosen), std::move(entry)};
}

}  // namespace ipex_studio
