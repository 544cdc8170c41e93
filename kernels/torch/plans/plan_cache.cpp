// See plan_cache.h. One file in spite of its length: all of it is the one class and its entries, under the same locks.
#include "kernels/torch/plans/plan_cache.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/clock.h"
#include "core/base/huge_pages.h"
#include "core/plan/batch_independence.h"
#include "core/runtime/machine_facts.h"
#include "core/runtime/plan_device.h"
#include "core/tune/tuner_key.h"
#include "kernels/common/any_above.h"
#include "kernels/kernel_list.h"
#include "kernels/onednn/onednn_version.h"
#include "kernels/torch/plans/background_worker.h"
#include "kernels/torch/plans/plan_cache_entry.h"

namespace ipex_studio {
namespace {

// The library keeps every primitive it ever made up to this number, plans or no plans.
constexpr int kLibraryPrimitives = 256;

// Plans that ran once hold this part of the budget.
constexpr std::size_t kShareOfOnce = 16;

// As many runs of each plan are timed, where that decides about new sizes.
constexpr std::int32_t kTimedRuns = 3;

constexpr const char kNoMemory[] = "There is not enough memory for a plan of these sizes.";

std::atomic<std::size_t> budget_bytes{kDefaultPlanBudgetBytes};
std::atomic<std::size_t> live_caches{0};

// Plans of a region whose steps are told apart; those of more sizes count for the last one with as many steps.
constexpr std::size_t kProfiledPlans = 8;

// Memory that one request of the background moves into huge pages: a process that ends waits for no more.
constexpr std::size_t kMovedAtOnce = 8 * kHugePage;

// False: nothing is moved. No one waits for what is left when the memory is freed: to other memory it does no harm.
bool collapseBesideRuns(const MemoryRange& memory) {
  static const char owner = 0;
  if (memory.bytes < kHugePage / 2) return true;
  const char* const begin = static_cast<const char*>(memory.begin);
  for (std::size_t at = 0; at < memory.bytes; at += kMovedAtOnce) {
    const std::size_t bytes = std::min(kMovedAtOnce, memory.bytes - at);
    if (!backgroundWorker().add(&owner, [=] { collapseIntoHugePages(begin + at, bytes); })) return false;
  }
  return true;
}

bool isSameStep(const StepRecord& a, const StepRecord& b) {
  return a.spec == b.spec && a.kernel == b.kernel && a.implementation == b.implementation &&
         a.src_layout == b.src_layout && a.dst_layout == b.dst_layout && a.dst_shape == b.dst_shape &&
         a.micro_batches == b.micro_batches;
}

std::size_t addSteps(PlanProfile& profile, const Plan& plan) {
  const std::size_t first = profile.steps.size();
  const auto shift = static_cast<std::int32_t>(first);
  for (StepRecord step : plan.steps()) {
    step.index += shift;
    step.last_use += shift;
    profile.steps.push_back(std::move(step));
  }
  for (DispatchRecord dispatch : plan.dispatches()) {
    dispatch.step += shift;
    profile.dispatches.push_back(std::move(dispatch));
  }
  profile.begin_ns.resize(profile.steps.size());
  profile.elapsed_ns.resize(profile.steps.size());
  profile.plan_begins.push_back(first);
  return first;
}

// The place of the plan's first step in the profile.
std::size_t placeOf(PlanProfile& profile, const Plan& plan) {
  const std::vector<StepRecord>& steps = plan.steps();
  std::optional<std::size_t> as_long;
  for (std::size_t p = 0; p < profile.plan_begins.size(); ++p) {
    const std::size_t begin = profile.plan_begins[p];
    const std::size_t end = p + 1 < profile.plan_begins.size() ? profile.plan_begins[p + 1] : profile.steps.size();
    if (end - begin != steps.size()) continue;
    const auto from = profile.steps.begin() + static_cast<std::ptrdiff_t>(begin);
    if (std::equal(steps.begin(), steps.end(), from, isSameStep)) return begin;
    as_long = begin;
  }
  return as_long && profile.plan_begins.size() >= kProfiledPlans ? *as_long : addSteps(profile, plan);
}

// True if values lie in floats of two bytes or in integers of one somewhere.
bool computesBelowFp32(const PlanSpec& spec) {
  const auto isSmall = [](DType dtype) { return dtype != DType::kBool && elementBytes(dtype) < 4; };
  for (const PlanSpec::Input& input : spec.inputs) {
    if (!input.is_int && isSmall(input.dtype)) return true;
  }
  for (const TensorDesc& constant : spec.constants) {
    if (isSmall(constant.dtype)) return true;
  }
  for (const PlanNode& node : spec.nodes) {
    if (node.is_int) continue;
    const std::string text = node.op.text();
    for (const char* name : {"f16", "u8", "s8"}) {
      if (text.find(name) != std::string::npos) return true;
    }
  }
  return false;
}

// The first rows along `axis` of a fresh row-major tensor; 0: it stays whole.
void keepRows(at::Tensor& tensor, std::int64_t rows, std::int64_t axis) {
  if (rows == 0) return;
  c10::SmallVector<std::int64_t, 8> sizes(tensor.sizes().begin(), tensor.sizes().end());
  std::int64_t blocks = 1;
  for (std::int64_t before = 0; before < axis; ++before) blocks *= sizes[static_cast<std::size_t>(before)];
  if (blocks > 1) {
    const std::size_t whole = tensor.nbytes() / static_cast<std::size_t>(blocks);
    const std::size_t kept = whole / static_cast<std::size_t>(tensor.size(axis)) * static_cast<std::size_t>(rows);
    char* memory = static_cast<char*>(tensor.data_ptr());
    for (std::size_t block = 1; block < static_cast<std::size_t>(blocks); ++block)
      std::memmove(memory + block * kept, memory + block * whole, kept);
  }
  sizes[static_cast<std::size_t>(axis)] = rows;
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);  // no trip through the dispatcher
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

void PlanCache::Entry::addTimes(PlanProfile& to, at::IntArrayRef begin, at::IntArrayRef elapsed) {
  if (std::exchange(profile, to.number) != to.number) profile_place = placeOf(to, *plan);
  for (std::size_t step = 0; step < begin.size(); ++step) {
    to.begin_ns[profile_place + step].push_back(begin[step]);
    to.elapsed_ns[profile_place + step].push_back(elapsed[step]);
  }
}

// --- PlanCache -------------------------------------------------------------------------------------------------------

PlanCache::PlanCache(PlanSpec spec, std::vector<at::Tensor> constants)
    : device_(planDevice()), spec_(std::move(spec)), constants_(std::move(constants)) {
  bool fits = constants_.size() == spec_.constants.size();
  for (std::size_t c = 0; fits && c < constants_.size(); ++c) {
    fits = constants_[c].defined() && constants_[c].is_contiguous() && descOf(constants_[c]) == spec_.constants[c];
  }
  if (!fits)
    throw Error(ExitCode::kBadModel, "The plan inside this file does not fit its weights; export the model again.");
  for (const PlanSpec::Input& input : spec_.inputs) int_inputs_ += input.is_int ? 1 : 0;
  table_ = new Table({});
  ++live_caches;
}

PlanCache::~PlanCache() {
  if (new_sizes_) backgroundWorker().forget(this);
  Table* table = table_;
  for (Entry* entry : table->entries) release(entry);
  delete table;
  freeRetired();
  if (--live_caches == 0) arenaPool().trim();
}

void PlanCache::release(Entry* entry) const {
  if (entry->users.fetch_sub(1, std::memory_order_acq_rel) == 1) delete entry;
}

PlanCache::Entry* PlanCache::find(const Signature& signature) const {
  const Table& table = *table_.load();
  const std::size_t mask = table.slots.size() - 1;
  for (std::size_t at = signature.hash & mask; table.slots[at] != nullptr; at = (at + 1) & mask) {
    Entry* entry = table.slots[at];
    if (entry->hash == signature.hash && signature.matches(spec_, *entry)) return entry;
  }
  return nullptr;
}

// Readers announce themselves before they look at the table and until they hold the entry; a writer frees entries that
// it took out of the table only after it has seen no reader. Sequentially consistent on purpose: a reader that the
// writer did not see comes after the new table.
PlanCache::Entry* PlanCache::hold(const Signature& signature) const {
  readers_.fetch_add(1);
  Entry* entry = find(signature);
  if (entry != nullptr) {
    entry->users.fetch_add(1, std::memory_order_relaxed);
    const std::uint64_t now = clock_.load(std::memory_order_relaxed);
    if (entry->last_use.load(std::memory_order_relaxed) != now) entry->last_use.store(now, std::memory_order_relaxed);
    if (!entry->came_back.load(std::memory_order_relaxed)) entry->came_back.store(true, std::memory_order_relaxed);
  }
  readers_.fetch_sub(1);
  return entry;
}

PlanCache::Entry* PlanCache::compile(const Signature& signature) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return compileLocked(signature);
}

PlanCache::Entry* PlanCache::compileLocked(const Signature& signature) {
  if (Entry* entry = hold(signature)) return entry;  // another thread was faster
  auto entry = std::make_unique<Entry>();
  entry->request = makeRequest(signature);
  entry->node = signature.node;
  entry->hash = signature.hash;
  entry->padded_inputs = signature.padded_inputs;
  if (signature.padded_inputs != 0) {
    entry->padded = signature.padded;
    entry->proven = std::make_unique<std::atomic<bool>[]>(static_cast<std::size_t>(signature.padded));
    const std::vector<bool> is_batch = batchInputs(signature);
    for (std::size_t i = 0; i < is_batch.size(); ++i)
      entry->padded_bytes += is_batch[i] ? entry->request.tensor_inputs[i].bytes() : 0;
  }
  const std::int64_t begin = nowNs();
  WeightCache& weights = weightsOf(signature.node);
  const bool tried = choose(entry->request, weights);
  if (tried) {  // weights were freed; their addresses may come again
    earlier_.clear();
    moved_.clear();
  }
  entry->request.earlier = &earlier_;
  // A run that shows its values has nothing else to run.
  if (refuses_nan_ && !value_hook_) entry->request.any_above = anyAboveFor(entry->request.target.isa);
  entry->plan = Plan::compile(spec_, entry->request, processKernels(), weights);
  // Not for every size that comes: what only other weights are packed from is made once for all of them.
  if (tried) weights.releaseUnused();
  moveConstants(*entry->plan);
  plan_bytes += entry->bytes();
  entry->giveBack(entry->takeIdle());  // its arena counts before anything is dropped for it
  entry->users = 2;                    // the table and the caller
  if (new_sizes_) {
    new_sizes_->prepared(signature.target(), nowNs() - begin);
    entry->came_back = new_sizes_->cameBack(signature.hash);
  }
  entry->last_use = ++clock_;
  std::vector<Entry*> entries = table_.load()->entries;
  entries.push_back(entry.get());
  dropOverBudget(entries, entry.get());
  retired_tables_.push_back(table_.exchange(new Table(std::move(entries))));
  freeRetired();
  return entry.release();
}

// Sets `choices` and `micro_batches`. True if weights may have been packed for kernels that were not chosen.
bool PlanCache::choose(PlanRequest& request, WeightCache& weights) try {
  if (value_hook_) return false;  // micro-batches, and steps that compute several nodes, would hide values
  if (choices_.empty() && !tuning_) return false;
  if (!request.target.device->isHost()) return false;  // measurements are those of the host
  if (!spec_digest_) spec_digest_ = specDigest(spec_);
  TunedPlan known;
  if (!choices_.empty()) {
    TuneOptions from_record;
    from_record.mode = TuneMode::kOff;
    from_record.libraries = tuningLibraries();
    from_record.spec_digest = &*spec_digest_;
    known = tunePlan(spec_, request, processKernels(), choices_, weights, from_record);
  }
  bool measures = false;
  if (known.entries.empty() && tuning_) {
    measures = measured_.insert(request.target.threads).second;
    known = tuning_->choose(spec_, request, processKernels(), weights, measures, &*spec_digest_);
    for (const TuningEntry& entry : known.entries) choices_.put(known.key, entry);
  }
  request.choices = std::move(known.choices);
  request.micro_batches = std::move(known.micro_batches);
  return measures || !known.entries.empty();
} catch (const std::bad_alloc&) {
  return true;  // candidates side by side need more memory than the plan
}

void PlanCache::dropOverBudget(std::vector<Entry*>& entries, const Entry* newest) {
  std::size_t own = 0;
  for (const Entry* entry : entries) own += entry->bytes();
  const std::size_t budget = budget_bytes;
  const std::size_t share = budget / std::max<std::size_t>(1, live_caches);
  std::size_t total = plan_bytes;
  std::sort(entries.begin(), entries.end(), [](const Entry* a, const Entry* b) { return a->last_use > b->last_use; });
  while (entries.size() > 1 && total > budget && own > share && entries.back() != newest) {
    const std::size_t freed = std::min(own, entries.back()->bytes());
    own -= freed;
    total -= std::min(total, freed);
    retire(entries, entries.size() - 1);
  }
  if (total > budget) arenaPool().trim();
  if (!new_sizes_) return;
  std::size_t once = 0;
  for (std::size_t e = 0; e < entries.size();) {
    const bool came_back = entries[e]->came_back || entries[e] == newest;
    once += came_back ? 0 : entries[e]->bytes();
    if (came_back || once <= budget / kShareOfOnce) {
      ++e;
    } else {
      retire(entries, e);
    }
  }
}

void PlanCache::retire(std::vector<Entry*>& entries, std::size_t index) {
  retired_entries_.push_back(entries[index]);
  entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(index));
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
  request.target.device = &device_;
  std::size_t next_tensor = 0, next_int = 0;
  for (const PlanSpec::Input& input : spec_.inputs) {
    request.tensor_inputs.push_back(input.is_int ? TensorDesc() : descOf(*signature.tensors[next_tensor++]));
    request.int_inputs.push_back(input.is_int ? signature.ints[next_int++] : 0);
  }
  request.constants = constantData();
  if (signature.padded_inputs == 0) return request;
  return withSamples(std::move(request), batchInputs(signature), signature.padded, static_cast<int>(bucket_axis_));
}

std::vector<const void*> PlanCache::constantData() const {
  std::vector<const void*> data;
  for (const at::Tensor& constant : constants_) data.push_back(constant.data_ptr());
  return data;
}

void PlanCache::moveConstants(const Plan& plan) {
  // Callers that measured kernels wait for the best plan, and measure it; others wait for the first result.
  const bool beside = choices_.empty() && !tuning_;
  for (const PlanConstant& constant : plan.constants()) {
    if (!constant.computed && !moved_.insert(constant.memory.begin).second) continue;
    if (!beside || !collapseBesideRuns(constant.memory))
      collapseIntoHugePages(constant.memory.begin, constant.memory.bytes);
  }
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
  const std::lock_guard<std::mutex> refusals_lock(refusals_mutex_);
  sizes.refused = refusals_.size();
  sizes.preparing = new_sizes_ ? new_sizes_->preparingBeside() : 0;
  return sizes;
}

bool PlanCache::isTypedFor(c10::ArrayRef<const at::Tensor*> tensors) const {
  std::size_t next = 0;
  for (const PlanSpec::Input& input : spec_.inputs) {
    if (input.is_int) continue;
    if (next == tensors.size()) return false;
    const TensorDesc desc = descOf(*tensors[next++]);
    if (desc.dtype != input.dtype || desc.dims.rank != input.rank) return false;
  }
  return next == tensors.size();
}

std::optional<std::string> PlanCache::refusalOf(const Signature& signature) const {
  if (!any_refused_.load(std::memory_order_acquire)) return std::nullopt;
  const std::lock_guard<std::mutex> lock(refusals_mutex_);
  const auto found = refusals_.find(signature.key());
  return found == refusals_.end() ? std::nullopt : std::optional<std::string>(found->second);
}

void PlanCache::rememberRefusal(const Signature& signature, const std::string& why) {
  const std::lock_guard<std::mutex> lock(refusals_mutex_);
  if (refusals_.size() == kMaxRefusals) refusals_.clear();
  refusals_.emplace(signature.key(), why);
  any_refused_.store(true, std::memory_order_release);
}

PlanCache::Entry* PlanCache::findOrCompile(Signature& signature, NoRun* no_run, bool may_postpone) {
  const bool bucketed = !buckets_.empty() && !value_hook_;
  Entry* entry = bucketed ? nullptr : hold(signature);
  if (entry != nullptr) return entry;
  if (const auto refusal = refusalOf(signature)) {
    no_run->why = *refusal;
    return nullptr;
  }
  try {
    if (bucketed) entry = holdBucket(signature);
    if (entry == nullptr) entry = hold(signature);
    if (entry != nullptr) return entry;
    no_run->postponed = may_postpone && isTypedFor(signature.tensors) && postpones(signature);
    return no_run->postponed ? nullptr : compile(signature);
  } catch (const std::bad_alloc&) {
    no_run->why = kNoMemory;  // there may be later
  } catch (const std::exception& problem) {
    if (!isTypedFor(signature.tensors)) throw;
    no_run->why = problem.what();
    signature.unpad();
    rememberRefusal(signature, no_run->why);
  }
  return nullptr;
}

void PlanCache::setNewSizes(NewSizesMode mode) {
  const bool at_once = mode == NewSizesMode::kAtOnce || computesBelowFp32(spec_);
  new_sizes_ = at_once ? nullptr : std::make_unique<NewSizes>(mode);
}

void PlanCache::ranOtherwise(c10::ArrayRef<const at::Tensor*> tensors, std::int64_t elapsed_ns) {
  if (!new_sizes_) return;
  new_sizes_->ranOriginalCode({omp_get_max_threads(), memoryNode()}, Signature::workOf(tensors), elapsed_ns);
}

// Profiles and hooks are there to see plans.
bool PlanCache::postpones(const Signature& signature) {
  if (!new_sizes_ || profile_ || value_hook_) return false;
  const NewSizes::Answer answer = new_sizes_->ask(signature.target(), signature.hash, signature.work());
  if (answer == NewSizes::Answer::kPrepareBeside) compileBeside(signature);
  return answer != NewSizes::Answer::kPrepare;
}

// On tensors of the same sizes, whose values nobody reads.
void PlanCache::compileBeside(const Signature& signature) {
  std::vector<at::Tensor> tensors;
  for (const at::Tensor* tensor : signature.tensors)
    tensors.push_back(at::empty_strided(tensor->sizes(), tensor->strides(), tensor->options()));
  const auto work = [this, tensors = std::move(tensors), ints = signature.ints.vec(), threads = signature.threads,
                     node = signature.node, size = signature.hash] {
    omp_set_num_threads(threads);
    setMemoryNode(node);
    std::vector<const at::Tensor*> pointers;
    for (const at::Tensor& tensor : tensors) pointers.push_back(&tensor);
    Signature same(*this, pointers, ints);
    NoRun refused;
    if (Entry* entry = findOrCompile(same, &refused, false)) release(entry);
    new_sizes_->preparedBeside(size);
  };
  if (!backgroundWorker().add(this, work)) new_sizes_->preparedBeside(signature.hash);
}

void PlanCache::run(c10::ArrayRef<const at::Tensor*> tensors, at::IntArrayRef ints, at::Tensor* results) {
  NoRun no_run;
  if (!tryRun(tensors, ints, results, &no_run)) throw Error(ExitCode::kFailure, no_run.why);
}

bool PlanCache::tryRun(c10::ArrayRef<const at::Tensor*> tensors, at::IntArrayRef ints, at::Tensor* results,
                       NoRun* no_run, bool may_postpone) try {
  at::internal::lazy_init_num_threads();
  Signature signature(*this, tensors, ints);
  Entry* entry = findOrCompile(signature, no_run, may_postpone);
  if (entry == nullptr) return false;
  Lease lease(*this, entry);
  const bool timed = new_sizes_ && entry->timed_runs.load(std::memory_order_relaxed) < kTimedRuns;
  const std::int64_t begin = timed ? nowNs() : 0;
  Running& running = lease.running();
  const bool pads = signature.padded_inputs != 0 && signature.samples() < signature.padded;
  std::size_t next_tensor = 0;
  for (std::size_t i = 0; i < spec_.inputs.size(); ++i) {
    if (spec_.inputs[i].is_int) continue;
    const at::Tensor& tensor = *signature.tensors[next_tensor];
    const bool pad = pads && signature.isPadded(next_tensor);
    ++next_tensor;
    running.inputs[i] =
        pad ? running.pad(i, lease.entry().request.tensor_inputs[i], tensor, bucket_axis_) : tensor.data_ptr();
  }
  const std::vector<TensorDesc>& outputs = lease.plan().outputs();
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    results[o] = emptyTensor(outputs[o]);
    running.outputs[o] = results[o].data_ptr();
  }
  if (profile_) {
    c10::SmallVector<std::int64_t, 16> begin(lease.plan().steps().size()), elapsed(begin.size());
    running.instance.runTimed(running.inputs.data(), running.outputs.data(), begin.data(), elapsed.data());
    lease.entry().addTimes(*profile_, begin, elapsed);
  } else if (value_hook_) {
    running.instance.runObserved(running.inputs.data(), running.outputs.data(), value_hook_);
  } else {
    running.instance.run(running.inputs.data(), running.outputs.data());
    if (timed) {
      entry->timed_runs.fetch_add(1, std::memory_order_relaxed);
      new_sizes_->ranPlan(signature.target(), signature.work(), nowNs() - begin);
    }
  }
  for (std::size_t o = 0; pads && o < outputs.size(); ++o)
    keepRows(results[o], lease.entry().output_rows[o] * signature.samples(), bucket_axis_);
  return true;
} catch (const std::bad_alloc&) {
  no_run->why = kNoMemory;
  return false;
}

}  // namespace ipex_studio
