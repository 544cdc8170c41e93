// Parts of a PlanCache. Private to kernels/torch/plans/plan_cache*.cpp.
#pragma once

#include <omp.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/runtime/cpu_sets.h"
#include "core/torch/tensor_bridge.h"
#include "kernels/torch/plans/arena_pool.h"
#include "kernels/torch/plans/lookup.h"
#include "kernels/torch/plans/plan_cache.h"

namespace ipex_studio {

// Memory of a prepared step beside the arena: descriptors, argument tables, generated code. Measured: 10 to 40 KB.
constexpr std::size_t kBytesPerStep = 24 << 10;

// Smaller arenas stay with their plans: they cost little memory, and sharing costs tens of ns.
constexpr std::size_t kSharedArenaBytes = 64 << 10;

inline std::atomic<std::size_t> plan_bytes{0};  // of all caches

// --- what a run brings -----------------------------------------------------------------------------------------------

// A view of one call's inputs; lives as long as the call. Once padded it asks for a plan for more samples than there
// are.
struct PlanCache::Signature {
  Signature(const PlanCache& cache, c10::ArrayRef<const at::Tensor*> given, at::IntArrayRef given_ints)
      : tensors(given.begin(), given.end()),
        ints(given_ints),
        threads(omp_get_max_threads()),
        node(memoryNode()),
        bucket_axis(cache.bucket_axis_) {
    if (ints.size() != cache.int_inputs_ || tensors.size() != cache.spec_.inputs.size() - cache.int_inputs_) {
      throw Error(ExitCode::kBadModel,
                  "The plan inside this file gets another number of inputs than it takes; export the model again.");
    }
    for (const at::Tensor*& tensor : tensors) {
      if (tensor->is_contiguous()) continue;
      copies.reserve(tensors.size());  // once: pointers into it stay
      copies.push_back(planInput(*tensor));
      tensor = &copies.back();
    }
    setHash();
  }

  // Rows of the first tensor, or its positions; 0: it has none.
  std::int64_t samples() const {
    return tensors.empty() || tensors[0]->dim() <= bucket_axis ? 0 : tensors[0]->size(bucket_axis);
  }
  // Every input with so many rows, or positions, shall have as many as `bucket` says. False: not possible, nothing
  // changed.
  bool pad(std::int64_t bucket) {
    if (tensors.size() > 64) return false;
    std::uint64_t bits = 0;
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      if (tensors[t]->dim() <= bucket_axis || tensors[t]->size(bucket_axis) != samples()) continue;
      if (!tensors[t]->is_contiguous()) return false;
      bits |= std::uint64_t{1} << t;
    }
    padded_inputs = bits;
    padded = bucket;
    setHash();
    return true;
  }
  void unpad() {
    padded_inputs = 0;
    setHash();
  }
  // All that a plan is compiled for, as numbers.
  std::vector<std::int64_t> key() const {
    std::vector<std::int64_t> numbers{threads, node};
    numbers.insert(numbers.end(), ints.begin(), ints.end());
    for (const at::Tensor* tensor : tensors) {
      numbers.push_back(static_cast<std::int64_t>(tensor->scalar_type()));
      numbers.insert(numbers.end(), tensor->sizes().begin(), tensor->sizes().end());
      numbers.insert(numbers.end(), tensor->strides().begin(), tensor->strides().end());
    }
    return numbers;
  }
  // The amount of work, as far as inputs tell.
  double work() const { return workOf(tensors); }
  static double workOf(c10::ArrayRef<const at::Tensor*> tensors) {
    double elements = 0;
    for (const at::Tensor* tensor : tensors) elements += static_cast<double>(tensor->numel());
    return elements;
  }
  NewSizes::Target target() const { return {threads, node}; }
  bool isPadded(std::size_t tensor) const { return padded_inputs != 0 && (padded_inputs >> tensor & 1) != 0; }

  bool matches(const PlanSpec& spec, const Entry& entry) const;

  c10::SmallVector<const at::Tensor*, 16> tensors;
  at::IntArrayRef ints;
  std::int32_t threads;
  int node;
  std::uint64_t padded_inputs = 0;  // a bit each; 0: the plan is for just these sizes
  std::int64_t padded = 0;          // rows that these have in the plan
  std::int64_t bucket_axis;         // that is padded
  std::uint64_t hash = 0;
  std::vector<at::Tensor> copies;  // of inputs whose layout plans do not take

 private:
  void setHash() {
    hash = 0;
    mix(hash, static_cast<std::uint64_t>(threads));
    mix(hash, static_cast<std::uint64_t>(node));
    mix(hash, padded_inputs);
    for (const std::int64_t value : ints) mix(hash, static_cast<std::uint64_t>(value));
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      const at::IntArrayRef sizes = tensors[t]->sizes();
      mix(hash, static_cast<std::uint64_t>(tensors[t]->scalar_type()));
      for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
        mix(hash, static_cast<std::uint64_t>(
                      isPadded(t) && static_cast<std::int64_t>(axis) == bucket_axis ? padded : sizes[axis]));
        if (!isPadded(t)) mix(hash, static_cast<std::uint64_t>(tensors[t]->stride(static_cast<std::int64_t>(axis))));
      }
    }
  }
  bool sameInput(const TensorDesc& desc, std::size_t number) const {
    const at::Tensor& tensor = *tensors[number];
    if (tensor.dim() != desc.dims.rank || dtypeOf(tensor.scalar_type()) != desc.dtype) return false;
    for (int axis = 0; axis < desc.dims.rank; ++axis) {
      const std::int64_t size = isPadded(number) && axis == bucket_axis ? padded : tensor.size(axis);
      if (size != desc.dims[axis]) return false;
      if (!isPadded(number) && tensor.stride(axis) != desc.strides[axis]) return false;  // padded ones are row-major
    }
    return true;
  }
};

// --- what is kept ----------------------------------------------------------------------------------------------------

struct PlanCache::Running {
  explicit Running(const Plan& plan, std::size_t input_count, Plan::Instance::HostArena arena)
      : instance(plan, arena), inputs(input_count, nullptr), outputs(plan.outputs().size(), nullptr) {}
  Plan::Instance instance;

  // Copies the rows of `tensor` along `axis` into memory of `desc`, which holds more. The other rows are filled with
  // valid numbers, not with values of an earlier call, for which this one might be refused.
  const void* pad(std::size_t input, const TensorDesc& desc, const at::Tensor& tensor, std::int64_t axis) {
    padded.resize(inputs.size());
    Padded& own = padded[input];
    if (desc.bytes() == 0) return tensor.data_ptr();
    if (own.rows.data() == nullptr) {
      own.rows = Buffer(desc.bytes());
      std::memset(own.rows.data(), 0, desc.bytes());
    }
    std::int64_t blocks = 1;
    for (std::int64_t before = 0; before < axis; ++before) blocks *= tensor.size(before);
    const std::size_t bytes = tensor.nbytes() / static_cast<std::size_t>(blocks),
                      whole = desc.bytes() / static_cast<std::size_t>(blocks);
    char* to = static_cast<char*>(own.rows.data());
    const char* from = static_cast<const char*>(tensor.data_ptr());
    for (std::int64_t block = 0; block < blocks; ++block, to += whole, from += bytes) {
      std::memcpy(to, from, bytes);
      if (own.used > bytes) std::memset(to + bytes, 0, own.used - bytes);
    }
    own.used = bytes;
    return own.rows.data();
  }

  struct Padded {
    Buffer rows;
    std::size_t used = 0;  // bytes of each block of rows
  };
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  std::vector<Padded> padded;  // per input; empty before the first that is padded
};

struct PlanCache::Entry {
  ~Entry() {
    for (std::atomic<Running*>& slot : idle) delete slot.load();
    plan_bytes -= bytes();
  }

  // Appends the times of one run of the plan to a profile.
  void addTimes(PlanProfile& to, at::IntArrayRef begin, at::IntArrayRef elapsed);

  bool sharesArena() const { return plan->hostArenaBytes() >= kSharedArenaBytes; }
  std::size_t instanceBytes() const {
    const std::size_t shared = sharesArena() ? plan->hostArenaBytes() : 0;
    return plan->arenaBytes() - shared + plan->steps().size() * 256 + padded_bytes;
  }
  // Without a plan, which could not be compiled, nothing was counted.
  std::size_t bytes() const {
    return plan ? plan->steps().size() * kBytesPerStep + plan->computedBytes() + instances * instanceBytes() : 0;
  }

  Running* takeIdle() {
    for (std::size_t i = 0, home = homeSlot(); i < kHomeSlots; ++i) {
      std::atomic<Running*>& slot = idle[(home + i) % kHomeSlots];
      if (slot.load(std::memory_order_relaxed) == nullptr) continue;
      if (Running* taken = slot.exchange(nullptr, std::memory_order_acquire)) return taken;
    }
    auto made = std::make_unique<Running>(
        *plan, request.tensor_inputs.size(),
        sharesArena() ? Plan::Instance::HostArena::kBorrowed : Plan::Instance::HostArena::kOwn);
    ++instances;
    plan_bytes += instanceBytes();
    return made.release();
  }

  void giveBack(Running* running) {
    for (std::size_t i = 0, home = homeSlot(); i < kHomeSlots; ++i) {
      Running* none = nullptr;
      if (idle[(home + i) % kHomeSlots].compare_exchange_strong(none, running, std::memory_order_release,
                                                                std::memory_order_relaxed))
        return;
    }
    delete running;
    --instances;
    plan_bytes -= instanceBytes();
  }

  // True if the plan is proven to serve this number of samples in its first rows.
  bool serves(std::int64_t samples) const {
    return samples == padded || proven[static_cast<std::size_t>(samples)].load(std::memory_order_acquire);
  }

  PlanRequest request;
  int node = 0;
  std::uint64_t hash = 0;
  std::uint64_t padded_inputs = 0;
  std::int64_t padded = 0;
  std::size_t padded_bytes = 0;                 // memory for inputs with fewer rows
  std::vector<std::int64_t> output_rows;        // per sample; known once anything is proven
  std::unique_ptr<std::atomic<bool>[]> proven;  // by samples
  std::unique_ptr<Plan> plan;
  std::atomic<std::uint64_t> last_use{0};   // PlanCache::clock_ at the time
  std::atomic<bool> came_back{false};       // for a second run
  std::atomic<std::int32_t> timed_runs{0};  // of the first ones
  std::uint64_t profile = 0;                // number of the profile that profile_place is of
  std::size_t profile_place = 0;            // of the plan's first step
  std::atomic<std::int32_t> users{1};       // the table, and each run
  std::atomic<std::size_t> instances{0};
  std::array<std::atomic<Running*>, kHomeSlots> idle{};
};

inline bool PlanCache::Signature::matches(const PlanSpec& spec, const Entry& entry) const {
  const PlanRequest& request = entry.request;
  if (request.target.threads != threads || entry.node != node || entry.padded_inputs != padded_inputs) return false;
  std::size_t next_tensor = 0, next_int = 0;
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    const bool same = spec.inputs[i].is_int ? request.int_inputs[i] == ints[next_int++]
                                            : sameInput(request.tensor_inputs[i], next_tensor++);
    if (!same) return false;
  }
  return true;
}

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
    if (arena_ != nullptr) arenaPool().giveBack(arena_);
    cache_.release(entry_);
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Running& running() {
    if (running_ != nullptr) return *running_;
    running_ = entry_->takeIdle();
    if (entry_->sharesArena()) {
      arena_ = arenaPool().take(entry_->plan->hostArenaBytes(), entry_->node);
      running_->instance.setHostArena(arena_->memory.data());
    }
    return *running_;
  }
  const Plan& plan() const { return *entry_->plan; }
  Entry& entry() const { return *entry_; }

 private:
  const PlanCache& cache_;
  Entry* entry_;
  Running* running_ = nullptr;
  ArenaPool::Arena* arena_ = nullptr;
};

}  // namespace ipex_studio
