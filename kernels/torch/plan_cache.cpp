#include "kernels/torch/plan_cache.h"

#include <ATen/Parallel.h>
#include <omp.h>

#include <algorithm>

#include "core/graph/tensor_bridge.h"
#include "core/plan/core_sets.h"
#include "core/plan/error.h"
#include "core/plan/machine_facts.h"
#include "kernels/kernel_list.h"
#include "kernels/onednn_version.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kIdleSlots = 64;
// What a prepared step holds beside the arena: descriptors, argument tables, generated code. Measured: 10 to 40 KB.
constexpr std::size_t kBytesPerStep = 24 << 10;
// The library keeps every primitive it ever made up to this number, plans or no plans.
constexpr int kLibraryPrimitives = 256;

std::atomic<std::size_t> budget_bytes{kDefaultPlanBudgetBytes};
std::atomic<std::size_t> total_bytes{0};
std::atomic<std::size_t> live_caches{0};

// A small number per thread: where it looks for an instance first, so that it finds the one its caches know.
std::size_t homeSlot() {
  static std::atomic<std::size_t> next{0};
  thread_local const std::size_t home = next.fetch_add(1, std::memory_order_relaxed);
  return home % kIdleSlots;
}

void append(PlanProfile& profile, const Plan& plan, const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& elapsed) {
  if (profile.steps.size() != plan.steps().size()) {
    profile.steps = plan.steps();
    profile.dispatches = plan.dispatches();
    profile.begin_ns.assign(plan.steps().size(), {});
    profile.elapsed_ns.assign(plan.steps().size(), {});
  }
  for (std::size_t step = 0; step < begin.size(); ++step) {
    profile.begin_ns[step].push_back(begin[step]);
    profile.elapsed_ns[step].push_back(elapsed[step]);
  }
}

void mix(std::uint64_t& hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  hash ^= hash >> 29;
}

}  // namespace

const KernelList& processKernels() {
  static const std::unique_ptr<KernelList> kernels = [] {
    limitPrimitiveCache(kLibraryPrimitives);
    return makeKernelList();
  }();
  return *kernels;
}

void setPlanBudget(std::size_t bytes) { budget_bytes = bytes; }

// --- what a run brings -----------------------------------------------------------------------------------------------

// A view of one call's inputs; lives as long as the call.
struct PlanCache::Signature {
  Signature(const PlanCache& cache, c10::ArrayRef<const at::Tensor*> given, at::IntArrayRef given_ints)
      : tensors(given.begin(), given.end()), ints(given_ints), threads(omp_get_max_threads()), node(memoryNode()) {
    if (ints.size() != cache.int_inputs_ || tensors.size() != cache.spec_.inputs.size() - cache.int_inputs_) {
      throw Error(ExitCode::kBadModel, "The plan inside this file gets another number of inputs than it takes; export the model again.");
    }
    mix(hash, static_cast<std::uint64_t>(threads));
    mix(hash, static_cast<std::uint64_t>(node));
    for (const std::int64_t value : ints) mix(hash, static_cast<std::uint64_t>(value));
    for (const at::Tensor*& tensor : tensors) {
      if (!tensor->is_contiguous()) {
        copies.reserve(tensors.size());  // once: pointers into it stay
        copies.push_back(planInput(*tensor));
        tensor = &copies.back();
      }
      mix(hash, static_cast<std::uint64_t>(tensor->scalar_type()));
      for (const std::int64_t size : tensor->sizes()) mix(hash, static_cast<std::uint64_t>(size));
      for (const std::int64_t stride : tensor->strides()) mix(hash, static_cast<std::uint64_t>(stride));
    }
  }

  bool matches(const PlanSpec& spec, const PlanRequest& request, int request_node) const {
    if (request.target.threads != threads || request_node != node) return false;
    std::size_t next_tensor = 0, next_int = 0;
    for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
      const bool same = spec.inputs[i].is_int ? request.int_inputs[i] == ints[next_int++]
                                              : sameInput(request.tensor_inputs[i], *tensors[next_tensor++]);
      if (!same) return false;
    }
    return true;
  }

  static bool sameInput(const TensorDesc& desc, const at::Tensor& tensor) {
    if (tensor.dim() != desc.dims.rank || dtypeOf(tensor.scalar_type()) != desc.dtype) return false;
    for (int axis = 0; axis < desc.dims.rank; ++axis) {
      if (tensor.size(axis) != desc.dims[axis] || tensor.stride(axis) != desc.strides[axis]) return false;
    }
    return true;
  }

  c10::SmallVector<const at::Tensor*, 16> tensors;
  at::IntArrayRef ints;
  std::int32_t threads;
  int node;
  std::uint64_t hash = 0;
  std::vector<at::Tensor> copies;  // of inputs whose layout plans do not take
};

// --- what is kept ----------------------------------------------------------------------------------------------------

struct PlanCache::Running {
  explicit Running(const Plan& plan, std::size_t input_count)
      : instance(plan), inputs(input_count, nullptr), outputs(plan.outputs().size(), nullptr) {}
  Plan::Instance instance;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
};

struct PlanCache::Entry {
  ~Entry() {
    for (std::atomic<Running*>& slot : idle) delete slot.load();
    total_bytes -= bytes();
  }

  std::size_t instanceBytes() const { return plan->arenaBytes() + plan->steps().size() * 256; }
  // Without a plan, which could not be compiled, nothing was counted.
  std::size_t bytes() const { return plan ? plan->steps().size() * kBytesPerStep + plan->computedBytes() + instances * instanceBytes() : 0; }

  Running* takeIdle() {
    for (std::size_t i = 0, home = homeSlot(); i < kIdleSlots; ++i) {
      std::atomic<Running*>& slot = idle[(home + i) % kIdleSlots];
      if (slot.load(std::memory_order_relaxed) == nullptr) continue;
      if (Running* taken = slot.exchange(nullptr, std::memory_order_acquire)) return taken;
    }
    auto made = std::make_unique<Running>(*plan, request.tensor_inputs.size());
    ++instances;
    total_bytes += instanceBytes();
    return made.release();
  }

  void giveBack(Running* running) {
    for (std::size_t i = 0, home = homeSlot(); i < kIdleSlots; ++i) {
      Running* none = nullptr;
      if (idle[(home + i) % kIdleSlots].compare_exchange_strong(none, running, std::memory_order_release, std::memory_order_relaxed)) return;
    }
    delete running;
    --instances;
    total_bytes -= instanceBytes();
  }

  PlanRequest request;
  int node = 0;
  std::uint64_t hash = 0;
  std::unique_ptr<Plan> plan;
  std::atomic<std::uint64_t> last_use{0};  // PlanCache::clock_ at the time
  std::atomic<std::int32_t> users{1};      // the table, and each run
  std::atomic<std::size_t> instances{0};
  std::array<std::atomic<Running*>, kIdleSlots> idle{};
};

// Open addressing, at most half full; never changed once it is published.
struct PlanCache::Table {
  explicit Table(std::vector<Entry*> all) : entries(std::move(all)) {
    std::size_t size = 4;
    while (size < 2 * entries.size()) size *= 2;
    slots.resize(size, nullptr);
    for (Entry* entry : entries) {
      std::size_t at = entry->hash & (size - 1);
      while (slots[at] != nullptr) at = (at + 1) & (size - 1);
      slots[at] = entry;
    }
  }
  std::vector<Entry*> entries;
  std::vector<Entry*> slots;
};

// One run's hold on an entry and one of its instances.
class PlanCache::Lease {
 public:
  Lease(const PlanCache& cache, Entry* entry) : cache_(cache), entry_(entry) {}
  ~Lease() {
    if (running_ != nullptr) entry_->giveBack(running_);
    cache_.release(entry_);
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Running& running() {
    if (running_ == nullptr) running_ = entry_->takeIdle();
    return *running_;
  }
  const Plan& plan() const { return *entry_->plan; }

 private:
  const PlanCache& cache_;
  Entry* entry_;
  Running* running_ = nullptr;
};

// --- PlanCache -------------------------------------------------------------------------------------------------------

PlanCache::PlanCache(PlanSpec spec, std::vector<at::Tensor> constants)
    : spec_(std::move(spec)), constants_(std::move(constants)) {
  bool fits = constants_.size() == spec_.constants.size();
  for (std::size_t c = 0; fits && c < constants_.size(); ++c) {
    fits = constants_[c].defined() && constants_[c].is_contiguous() && descOf(constants_[c]) == spec_.constants[c];
  }
  if (!fits) throw Error(ExitCode::kBadModel, "The plan inside this file does not fit its weights; export the model again.");
  for (const PlanSpec::Input& input : spec_.inputs) int_inputs_ += input.is_int ? 1 : 0;
  table_ = new Table({});
  ++live_caches;
}

PlanCache::~PlanCache() {
  Table* table = table_;
  for (Entry* entry : table->entries) release(entry);
  delete table;
  freeRetired();
  --live_caches;
}

void PlanCache::release(Entry* entry) const {
  if (entry->users.fetch_sub(1, std::memory_order_acq_rel) == 1) delete entry;
}

PlanCache::Entry* PlanCache::find(const Signature& signature) const {
  const Table& table = *table_.load();
  const std::size_t mask = table.slots.size() - 1;
  for (std::size_t at = signature.hash & mask; table.slots[at] != nullptr; at = (at + 1) & mask) {
    Entry* entry = table.slots[at];
    if (entry->hash == signature.hash && signature.matches(spec_, entry->request, entry->node)) return entry;
  }
  return nullptr;
}

// Readers announce themselves before they look at the table and until they hold the entry; what a writer took out of
// the table is freed only when it has since seen no reader. Sequentially consistent on purpose: a reader that the
// writer did not see comes after the new table.
PlanCache::Entry* PlanCache::hold(const Signature& signature) const {
  readers_.fetch_add(1);
  Entry* entry = find(signature);
  if (entry != nullptr) {
    entry->users.fetch_add(1, std::memory_order_relaxed);
    const std::uint64_t now = clock_.load(std::memory_order_relaxed);
    if (entry->last_use.load(std::memory_order_relaxed) != now) entry->last_use.store(now, std::memory_order_relaxed);
  }
  readers_.fetch_sub(1);
  return entry;
}

PlanCache::Entry* PlanCache::compile(const Signature& signature) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (Entry* entry = hold(signature)) return entry;  // another thread was faster
  auto entry = std::make_unique<Entry>();
  entry->request = makeRequest(signature);
  entry->node = signature.node;
  entry->hash = signature.hash;
  WeightCache& weights = weightsOf(signature.node);
  const std::size_t packed_bytes = weights.bytes();
  entry->request.choices = choose(entry->request, weights);
  const bool tried = weights.bytes() != packed_bytes;
  entry->plan = Plan::compile(spec_, entry->request, processKernels(), weights);
  // Not for every size that comes: what only other weights are packed from is made once for all of them.
  if (tried) weights.releaseUnused();
  total_bytes += entry->bytes();
  entry->giveBack(entry->takeIdle());  // its arena counts before anything is dropped for it
  entry->users = 2;  // the table and the caller
  entry->last_use = ++clock_;
  std::vector<Entry*> entries = table_.load()->entries;
  entries.push_back(entry.get());
  dropOverBudget(entries, entry.get());
  retired_tables_.push_back(table_.exchange(new Table(std::move(entries))));
  freeRetired();
  return entry.release();
}

std::shared_ptr<const PlanChoices> PlanCache::choose(const PlanRequest& request, WeightCache& weights) try {
  TunedPlan known;
  if (!choices_.empty()) {
    TuneOptions from_record;
    from_record.mode = TuneMode::kOff;
    from_record.libraries = tuningLibraries();
    known = tunePlan(spec_, request, processKernels(), choices_, weights, from_record);
  }
  if (!known.entry && tuning_) {
    known = tuning_->choose(spec_, request, processKernels(), weights, measured_.insert(request.target.threads).second);
    if (known.entry) choices_.put(known.key, *known.entry);
  }
  return known.choices;
} catch (const std::bad_alloc&) {
  return nullptr;  // candidates side by side need more memory than the plan
}

void PlanCache::dropOverBudget(std::vector<Entry*>& entries, const Entry* newest) {
  std::size_t own = 0;
  for (const Entry* entry : entries) own += entry->bytes();
  const std::size_t budget = budget_bytes;
  const std::size_t share = budget / std::max<std::size_t>(1, live_caches);
  std::size_t total = total_bytes;
  std::sort(entries.begin(), entries.end(), [](const Entry* a, const Entry* b) { return a->last_use > b->last_use; });
  while (entries.size() > 1 && total > budget && own > share && entries.back() != newest) {
    const std::size_t freed = std::min(own, entries.back()->bytes());
    own -= freed;
    total -= std::min(total, freed);
    retired_entries_.push_back(entries.back());
    entries.pop_back();
  }
}

void PlanCache::freeRetired() {
  if (readers_.load() != 0) return;  // with the next signature, or in the destructor
  for (Table* table : retired_tables_) delete table;
  for (Entry* entry : retired_entries_) release(entry);
  retired_tables_.clear();
  retired_entries_.clear();
}

PlanRequest PlanCache::makeRequest(const Signature& signature) const {
  static const std::string isa = machineFacts().isa;
  PlanRequest request;
  request.target.threads = signature.threads;
  request.target.isa = isa;
  std::size_t next_tensor = 0, next_int = 0;
  for (const PlanSpec::Input& input : spec_.inputs) {
    request.tensor_inputs.push_back(input.is_int ? TensorDesc() : descOf(*signature.tensors[next_tensor++]));
    request.int_inputs.push_back(input.is_int ? signature.ints[next_int++] : 0);
  }
  request.constants = constantData();
  return request;
}

std::vector<const void*> PlanCache::constantData() const {
  std::vector<const void*> data;
  for (const at::Tensor& constant : constants_) data.push_back(constant.data_ptr());
  return data;
}

WeightCache& PlanCache::weightsOf(int node) {
  takePrepared();
  const auto [found, fresh] = weights_.try_emplace(node);
  if (fresh) {
    for (const WeightCache::Entry& entry : prepared_) found->second.put(entry.source, entry.form, entry.buffer);
  }
  return found->second;
}

std::size_t PlanCache::packedBytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& [node, weights] : weights_) bytes += weights.bytes();
  return bytes;
}

PlanCache::Sizes PlanCache::sizes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  Sizes sizes;
  for (const Entry* entry : table_.load()->entries) {
    ++sizes.plans;
    sizes.instances += entry->instances;
    sizes.bytes += entry->bytes();
  }
  return sizes;
}

void PlanCache::run(c10::ArrayRef<const at::Tensor*> tensors, at::IntArrayRef ints, at::Tensor* results) {
  at::internal::lazy_init_num_threads();
  const Signature signature(*this, tensors, ints);
  Entry* entry = hold(signature);
  Lease lease(*this, entry != nullptr ? entry : compile(signature));
  Running& running = lease.running();
  std::size_t next_tensor = 0;
  for (std::size_t i = 0; i < spec_.inputs.size(); ++i) {
    if (!spec_.inputs[i].is_int) running.inputs[i] = signature.tensors[next_tensor++]->data_ptr();
  }
  const std::vector<TensorDesc>& outputs = lease.plan().outputs();
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    results[o] = emptyTensor(outputs[o]);
    running.outputs[o] = results[o].data_ptr();
  }
  if (profile_) {
    std::vector<std::int64_t> begin(lease.plan().steps().size()), elapsed(begin.size());
    running.instance.runTimed(running.inputs.data(), running.outputs.data(), begin.data(), elapsed.data());
    append(*profile_, lease.plan(), begin, elapsed);
  } else if (value_hook_) {
    running.instance.runObserved(running.inputs.data(), running.outputs.data(), value_hook_);
  } else {
    running.instance.run(running.inputs.data(), running.outputs.data());
  }
}

}  // namespace ipex_studio
