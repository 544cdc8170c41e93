// Kernel: one way to do one kind of operation. PreparedOp: that way, made ready for exact shapes, layouts and threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/op/op_spec.h"
#include "core/op/tensor_view.h"
#include "core/runtime/device.h"

namespace ipex_studio {

// The machine that a kernel is prepared for.
struct Target {
  Device* device = &hostDevice();
  std::string isa = "avx512_core";  // machine_facts tier, possibly capped
  std::int32_t threads = 1;         // OpenMP threads at execution
};

// The answer of a kernel; a decline is a value with a reason.
struct Verdict {
  bool ok = true;
  std::string reason;  // kebab-case code or short sentence; empty when ok
  static Verdict yes() { return {}; }
  static Verdict no(std::string reason) { return {false, std::move(reason)}; }
};

// Constants packed for kernels, shared by all plans and instances of a model. Thread-safe.
class WeightCache {
 public:
  using Packed = std::shared_ptr<const Buffer>;
  virtual ~WeightCache() = default;
  // Returns the buffer of `bytes` under a key (source pointer plus a text that names the packed form); `pack` fills it
  // on first use. Equal sources and equal texts give equal bytes, in this process and in others on machines of this
  // kind.
  virtual Packed getOrPack(const void* source, const std::string& form, std::size_t bytes,
                           const std::function<void(void* packed)>& pack);
  // A copy of host data in the memory of another device, made on first use.
  Packed copyTo(Device& device, const void* source, std::size_t bytes);
  // Sets the buffer that getOrPack returns for this key, if it has the size asked for.
  void put(const void* source, const std::string& form, Packed packed);
  std::size_t bytes() const;
  // Frees buffers that no plan holds.
  void releaseUnused();
  // Visits each buffer on the host once, in no particular order.
  void forEach(const std::function<void(const Buffer&)>& visit) const;

  struct Entry {
    const void* source = nullptr;
    std::string form;
    Packed buffer;
  };
  std::vector<Entry> entries() const;  // those on the host, sorted by source and form

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<const void*, std::string>, Packed> packed_;
};

struct PrepareArgs {
  OpSpec spec;
  std::vector<TensorDesc> src;  // layouts as the producers made them, on the target's device; absent operands
                                // have dtype kNone
  std::vector<const void*>
      constant;                 // per source: its data on the host when it is a constant of the model, else nullptr
  std::vector<bool> src_dies;   // per source: this step is its last reader and may overwrite it
  std::vector<TensorDesc> dst;  // inferred: dims and dtype; layout row-major, the kernel may choose another.
                                // reorder: exactly the layout that is wanted
  Target target;
  WeightCache* weights = nullptr;  // never null when any constant is set
};

// A range of memory that an operation reads.
struct MemoryRange {
  const void* begin = nullptr;
  std::size_t bytes = 0;
};

class PreparedOp;

// The memory objects and other state that one running instance needs. Not shared between threads.
class ExecState {
 public:
  virtual ~ExecState() = default;

  // Where an operation of another device puts its work; null on the host.
  DeviceQueue* queue = nullptr;

  // The next step that knows which memory it reads first, which an operation may prefetch while it computes. May be
  // null.
  const PreparedOp* next = nullptr;

  // Reports data that an execution cannot process (an index outside of its table), from any of its threads; the
  // execution still writes only its own memory. The running plan then throws. `why` is a static text: half a sentence.
  void fail(const char* why) { failure_.store(why, std::memory_order_relaxed); }
  // The failure recorded since the last call; null if there was none.
  const char* takeFailure() {
    if (failure_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    return failure_.exchange(nullptr, std::memory_order_relaxed);
  }

 private:
  std::atomic<const char*> failure_{nullptr};
};

// True if the bits of any of `count` floats, without their signs, are above `limit`: finds infinities and NaN.
// `element_bytes`: 4 (FP32) or 2 (BF16, FP16). Thread-safe.
using AnyAbove = bool (*)(const void* data, std::int64_t count, std::size_t element_bytes, std::uint32_t limit);

// Immutable after construction. execute() is thread-safe as long as each thread brings its own state, pointers and
// scratch memory.
class PreparedOp {
 public:
  virtual ~PreparedOp() = default;

  // Returns null if the operation needs no state.
  virtual std::unique_ptr<ExecState> newState() const { return nullptr; }
  // src/dst: pointers in operand order (nullptr where absent, or where `constant` was given and packed). scratch:
  // scratch_bytes bytes, 64-byte aligned. Allocates nothing, takes no lock.
  virtual void execute(ExecState* state, const void* const* src, void* const* dst, void* scratch) const = 0;

  // Returns the constants that `thread` reads first in its part of the work; empty if the operation does not know them,
  // or if they are few.
  virtual MemoryRange firstReads(std::int32_t thread) const {
    static_cast<void>(thread);
    return {};
  }

  // True if dst[0] would fill the memory of this source exactly, element by element.
  bool fitsInto(std::size_t source) const {
    return dst[0].dtype == src[source].dtype && dst[0].sameLayout(src[source]) && dst[0].bytes() == src[source].bytes();
  }

  // Layouts it reads and writes, all on the target's device (prepareBy sees to that). Where a source differs from
  // PrepareArgs::src the plan reorders.
  std::vector<TensorDesc> src, dst;
  std::vector<bool> packed;        // per source: constant was packed, pointer is not read at execution
  std::int32_t in_place_src = -1;  // dst[0] must share memory with this source (accumulating into it)
  bool may_alias = false;          // dst[0] may share memory with any dying source of the same layout and size
  // True if results are as defined only where the floats of all sources are finite: NaN may become a number. Plans look
  // for such values before (core/plan/finite_checks.h).
  bool needs_finite = false;
  std::size_t scratch_bytes = 0;
  std::string implementation;  // as the library names it; empty for own kernels
  std::int64_t flops = 0;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual const char* name() const = 0;  // "<op>_<lib or isa>[_<dtype>]": "convolution_onednn", "softmax_ref"
  // True for an alternative that is not better in general (a pinned layout, an algorithm with other rounding). Only a
  // measurement chooses it, never its place in the list.
  virtual bool onlyWhenMeasured() const { return false; }
  // Says whether this kernel can do the operation at all. Cheap.
  virtual Verdict supports(const PrepareArgs& args) const = 0;
  // Prepares the operation; call only after supports() said yes. Returns null and a reason if the library finds no
  // implementation.
  virtual std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const = 0;
};

// Candidates of each kind, most special first, ending in the reference. The list owns the kernels.
class KernelList {
 public:
  virtual ~KernelList() = default;
  // Kernels of `kind` that run on `device`, most special first; empty if there are none. No kernel asks which device it
  // is prepared for.
  virtual const std::vector<const Kernel*>& candidates(OpKind kind, DeviceKind device) const = 0;
};

}  // namespace ipex_studio
