// PlanCache: compiled plans of one PlanSpec, one per input signature, with their idle instances.
//
// A warm run takes no lock and allocates nothing but its results: signatures are found in an immutable hash table, and
// instances wait in slots that are taken and given back by one atomic exchange each. Only a new signature locks.
//
// Threads whose processors lie in one memory node (core/runtime/cpu_sets.h) get plans with weights of that node: packed
// by the first of them that runs, so that the system puts the pages there.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <torch/script.h>

#include "core/base/sha256.h"
#include "core/plan/earlier_choices.h"
#include "core/plan/plan.h"
#include "core/plan/prepared_weights.h"
#include "core/record/records_json.h"
#include "kernels/torch/plans/new_sizes.h"
#include "kernels/torch/plans/tuning.h"

namespace ipex_studio {

// The process's kernels: one oneDNN engine for all plans, as oneDNN advises.
const KernelList& processKernels();

// Samples of plan steps while somebody profiles. A region that runs in a loop, or on several sizes, has a plan for
// each: those with other steps stand behind each other.
struct PlanProfile {
  std::vector<StepRecord> steps;
  std::vector<DispatchRecord> dispatches;
  std::vector<std::vector<std::int64_t>> begin_ns;    // per step, per run; steady clock
  std::vector<std::vector<std::int64_t>> elapsed_ns;  // per step, per run
  std::vector<std::size_t> plan_begins;               // index of the first step of each plan
  std::uint64_t number = next_number++;               // of no other profile of the process

  static inline std::atomic<std::uint64_t> next_number{1};
};

// Arenas (arena_pool.h) and prepared operations of all plan caches of the process together. Once they hold more, each
// cache drops the signatures it has not used for the longest time until it is back to its even share. Packed weights
// are not counted: their number does not depend on the signatures.
constexpr std::size_t kDefaultPlanBudgetBytes = std::size_t{256} << 20;
void setPlanBudget(std::size_t bytes);

// Thread-safe: runs may overlap; each takes an instance (arena) of its own, idle ones are kept for the next run. A plan
// that is dropped while it runs lives until its last run ends.
class PlanCache {
 public:
  // `constants` must be row-major and match spec.constants. Throws Error(kBadModel) where they do not.
  PlanCache(PlanSpec spec, std::vector<at::Tensor> constants);
  ~PlanCache();
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;

  // tensors: per tensor input in order; ints: per integer input in order. results: one per output of the spec, set to
  // fresh row-major tensors.
  // Throws Error(kFailure) where no plan can take the inputs, and where a step refuses their values.
  void run(c10::ArrayRef<const at::Tensor*> tensors, at::IntArrayRef ints, at::Tensor* results);
  // The same, but returns false where no plan can take inputs of these sizes, or, if it may postpone, where none is
  // worth preparing yet. Sizes that were refused are remembered, the last kMaxRefusals of them: nothing is compiled for
  // them again. Inputs of other types or ranks than the spec has still throw.
  struct NoRun {
    bool postponed = false;
    std::string why;  // a sentence, if not postponed
  };
  static constexpr std::size_t kMaxRefusals = 256;
  bool tryRun(c10::ArrayRef<const at::Tensor*> tensors, at::IntArrayRef ints, at::Tensor* results, NoRun* no_run,
              bool may_postpone = false);
  // Runs the plan of one signature again and again on memory of the caller (plan_cache_rounds.h).
  class Rounds;
  // To be told after a postponed run, how long its results took.
  void ranOtherwise(c10::ArrayRef<const at::Tensor*> tensors, std::int64_t elapsed_ns);
  // Sets when runs that may be postponed are (new_sizes.h). Then plans that ran once make room for those of sizes that
  // came back. Not while runs are under way.
  void setNewSizes(NewSizesMode mode);
  // True if the tensors have the types and ranks that the spec was made for.
  bool isTypedFor(c10::ArrayRef<const at::Tensor*> tensors) const;

  // While set, runs append their step times. Null ends profiling. Only the thread that runs may set it.
  void setProfile(std::shared_ptr<PlanProfile> profile) { profile_ = std::move(profile); }

  // Sets batch sizes that share plans. A call whose batch (axis 0 of the first input, and of all that have as many
  // rows) lies between two of them runs on the plan of the next larger one, on copies of the inputs with rows of zeros
  // behind, and gets the first rows of the results: few plans then serve all sizes. Only where this is proven not to
  // change a result (core/plan/batch_independence.h); others get plans of their own. Ascending, each >= 1 and
  // at most kMaxBatch; empty: off. Not while runs are under way.
  static constexpr std::int64_t kMaxBatch = 1 << 16;
  void setBatchBuckets(std::vector<std::int64_t> buckets);
  const std::vector<std::int64_t>& batchBuckets() const { return bucket_axis_ == 0 ? buckets_ : kNoBuckets; }
  // The same for lengths of sequences, axis 1, in the place of batches.
  void setLengthBuckets(std::vector<std::int64_t> buckets);
  const std::vector<std::int64_t>& lengthBuckets() const { return bucket_axis_ == 1 ? buckets_ : kNoBuckets; }

  // While set, runs show it their values, at their own sizes. An empty one ends that. Only the thread that runs may set
  // it.
  void setValueHook(ValueHook hook) { value_hook_ = std::move(hook); }

  // Makes later plans throw where a kernel would give numbers for NaN: for callers who then run the original code.
  void setRefusesNan(bool refuses) { refuses_nan_ = refuses; }

  // Sets how later signatures choose their kernels; the first of them for each number of threads may be measured. Not
  // to be called during runs.
  void setTuning(c10::intrusive_ptr<Tuning> tuning) { tuning_ = std::move(tuning); }
  // The choices for all signatures so far, as text that readTuning understands. A text that does not fit this
  // machine, or nothing at all, has no effect.
  std::string tuningRecord() const { return dumpJson(choices_.toJson(false)); }
  void readTuning(const std::string& record) { choices_.readText(record); }

  // Gives files of prepared weights: if one of them knows this spec with these constants, its weights are taken instead
  // of being packed, on every memory node. To be called before the first run, which reads them.
  void setPrepared(std::vector<std::shared_ptr<const PreparedWeights>> files) { prepared_files_ = std::move(files); }
  // The weights packed so far, for such a file. `keep` holds the memory.
  PreparedRegion packedRegion(std::vector<WeightCache::Packed>* keep) const;

  const PlanSpec& spec() const { return spec_; }
  const std::vector<at::Tensor>& constants() const { return constants_; }
  std::size_t packedBytes() const;  // on all memory nodes

  struct Sizes {
    std::size_t plans = 0;      // signatures kept
    std::size_t instances = 0;  // arenas of them, idle or running
    std::size_t bytes = 0;      // what the budget counts, shared arenas aside
    std::size_t refused = 0;    // signatures known to have no plan
    std::size_t preparing = 0;  // signatures that plans are prepared for in the background
  };
  Sizes sizes() const;

 private:
  struct Entry;
  struct Table;
  struct Running;
  class Lease;
  struct Signature;

  Entry* find(const Signature& signature) const;
  Entry* hold(const Signature& signature) const;                                 // null: not compiled yet
  Entry* compile(const Signature& signature);                                    // held
  Entry* findOrCompile(Signature& signature, NoRun* no_run, bool may_postpone);  // held; null: refused or postponed
  bool postpones(const Signature& signature);
  void compileBeside(const Signature& signature);
  std::optional<std::string> refusalOf(const Signature& signature) const;
  void rememberRefusal(const Signature& signature, const std::string& why);
  Entry* compileLocked(const Signature& signature);
  // plan_cache_buckets.cpp
  Entry* holdBucket(Signature& signature);
  Entry* proveBucket(Signature& signature, std::int64_t bucket);
  std::vector<bool> batchInputs(const Signature& signature) const;
  void dropOverBudget(std::vector<Entry*>& entries, const Entry* newest);
  void retire(std::vector<Entry*>& entries, std::size_t index);
  void freeRetired();
  void release(Entry* entry) const;
  PlanRequest makeRequest(const Signature& signature) const;
  bool choose(PlanRequest& request, WeightCache& weights);
  std::vector<const void*> constantData() const;
  // Moves constants that a plan reads in place into huge pages; those of all plans once, since each request waits for
  // the other processors.
  void moveConstants(const Plan& plan);
  void takePrepared();
  WeightCache& weightsOf(int node);

  Device& device_;  // of all plans
  PlanSpec spec_;
  static inline const std::vector<std::int64_t> kNoBuckets;
  std::vector<std::int64_t> buckets_;
  std::int64_t bucket_axis_ = 0;
  std::vector<at::Tensor> constants_;
  std::size_t int_inputs_ = 0;
  std::map<int, WeightCache> weights_;                                  // by memory node; guarded by mutex_
  std::vector<std::shared_ptr<const PreparedWeights>> prepared_files_;  // not looked at yet
  std::vector<WeightCache::Entry> prepared_;                            // taken from one of them; in all of weights_
  std::shared_ptr<PlanProfile> profile_;
  ValueHook value_hook_;
  bool refuses_nan_ = false;
  c10::intrusive_ptr<Tuning> tuning_;  // null: only what choices_ holds
  MemoryTuningStore choices_;
  std::unique_ptr<NewSizes> new_sizes_;  // null: at once
  std::optional<Sha256> spec_digest_;    // guarded by mutex_
  std::set<std::int32_t> measured_;      // numbers of threads; guarded by mutex_
  std::set<const void*> moved_;          // constants in huge pages; guarded by mutex_
  EarlierChoices earlier_;               // guarded by mutex_

  // Reasons by Signature::key(), guarded by refusals_mutex_; runs with a plan do not look at them.
  mutable std::mutex refusals_mutex_;
  std::map<std::vector<std::int64_t>, std::string> refusals_;
  std::atomic<bool> any_refused_{false};

  std::atomic<Table*> table_;
  mutable std::atomic<std::int32_t> readers_{0};  // threads between reading table_ and holding an entry
  mutable std::mutex mutex_;                      // writers: guards what follows
  std::atomic<std::uint64_t> clock_{1};           // advances with each new signature
  std::vector<Table*> retired_tables_;
  std::vector<Entry*> retired_entries_;
};

}  // namespace ipex_studio
