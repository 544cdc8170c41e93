// Plan: a PlanSpec compiled for one input signature. A flat list of prepared operations over one arena.
//
//   auto plan = Plan::compile(spec, request, kernels, weights);
//   Plan::Instance instance(*plan);
//   instance.run(input_pointers, output_pointers);    // warm: no allocation, no lock, no dispatch of ours
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/op/kernel.h"
#include "core/op/plan_spec.h"
#include "core/plan/plan_parts.h"
#include "core/record/records.h"

namespace ipex_studio {

// The measured choice for one node of the spec: a hint, since the plan chooses as if there were none where the kernel
// declines.
struct StepChoice {
  std::string kernel;
  std::int32_t kept = 0;                   // post-operations that the kernel computes; the others follow as a step
  std::vector<std::string> src_layouts;    // per source (layout_text.h); empty: as it comes
  std::vector<DispatchRecord> candidates;  // what was measured; `step` is not filled
};
using PlanChoices = std::map<std::int32_t, StepChoice>;  // by node

// Receives the values of a running plan: number in the spec, description, data. The data is valid during the call only.
using ValueHook = std::function<void(std::int32_t value, const TensorDesc& desc, const void* data)>;

// A batch computed a few samples at a time, so that what its steps hand to each other stays in the caches. Made by
// proveMicroBatches (batch_independence.h).
struct MicroBatches {
  std::int64_t batch = 0;                 // samples in all
  std::int64_t samples = 0;               // samples at a time; the last micro-batch repeats some if need be
  std::vector<bool> inputs;               // true where axis 0, the outermost, counts the samples
  std::vector<std::int64_t> output_rows;  // rows of axis 0 per sample, for each output

  std::int64_t count() const { return (batch + samples - 1) / samples; }
  std::int64_t firstSample(std::int64_t micro_batch) const { return std::min(micro_batch * samples, batch - samples); }
};

class EarlierChoices;

struct PlanRequest {
  std::vector<TensorDesc> tensor_inputs;  // per input; integer inputs have an absent desc
  std::vector<std::int64_t> int_inputs;   // per input; 0 for tensors
  std::vector<const void*> constants;     // row-major data, must outlive the plan
  Target target;
  std::shared_ptr<const PlanChoices> choices;         // for the sizes of one micro-batch, if there are any; may be null
  std::shared_ptr<const MicroBatches> micro_batches;  // null: the whole batch at once
  EarlierChoices* earlier = nullptr;                  // of plans of the same spec and constants; may be null
  // Looks for values above a limit (kernels/common/any_above.h). Given one, a run throws where a kernel would give
  // numbers for NaN (finite_checks.h): for callers who then have something else to run.
  AnyAbove any_above = nullptr;
};

class Plan {
 public:
  // Throws Error(kFailure) with a sentence when the spec does not fit the inputs or no kernel takes an operation.
  static std::unique_ptr<Plan> compile(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels,
                                       WeightCache& weights);

  const std::vector<TensorDesc>& outputs() const { return parts_.outputs; }     // row-major
  const std::vector<StepRecord>& steps() const { return parts_.step_records; }  // same order as executed
  const std::vector<DispatchRecord>& dispatches() const { return parts_.dispatch_records; }
  std::size_t arenaBytes() const;  // of all devices, scratch memory included
  std::size_t hostArenaBytes() const { return parts_.arenas.front().bytes; }
  // Expected time of the copies between devices in one run; 0 where all steps run on the host.
  double copyNs() const { return parts_.copy_ns; }
  // Bytes of the results that depend on constants only and were computed by compile().
  std::size_t computedBytes() const { return parts_.computed_bytes; }
  // Constants on the host that steps read where they are; each once.
  const std::vector<PlanConstant>& constants() const { return parts_.constants; }

  // One running instance: its arenas, queues, states and pointer table. Use from one thread at a time.
  class Instance {
   public:
    // kBorrowed: the arena of the host is what setHostArena() says, from before the first run on.
    enum class HostArena { kOwn, kBorrowed };
    explicit Instance(const Plan& plan, HostArena host_arena = HostArena::kOwn);
    // `memory`: hostArenaBytes() of it, 64-byte aligned, contents undefined. Cheap if it is that of the run before.
    void setHostArena(void* memory);
    // Runs the plan once. `inputs`: per PlanSpec input (ignored for integers), on the device that PlanRequest says;
    // `outputs`: per output, on the host, sizes as outputs() says. 64-byte aligned where possible. Inputs and outputs
    // must not overlap. Throws Error(kFailure) when a step meets data it cannot do, such as an index outside of its
    // table, or NaN where the plan refuses it, or a device fails; results are then undefined, and the instance stays
    // usable.
    void run(const void* const* inputs, void* const* outputs);
    // run() that times step i into begin_ns[i] and elapsed_ns[i]: over all micro-batches, as if it did them one after
    // another. `clock_ns`: the steady clock where empty.
    void runTimed(const void* const* inputs, void* const* outputs, std::int64_t* begin_ns, std::int64_t* elapsed_ns,
                  const std::function<std::int64_t()>& clock_ns = {});
    // run() that shows `hook` the tensor inputs, then each result of a step that is a value of the spec. With
    // micro-batches it shows inputs only, since a part of a batch is no whole value.
    void runObserved(const void* const* inputs, void* const* outputs, const ValueHook& hook);

   private:
    // Throws Error(kFailure) if an input of micro-batch number `micro_batch`, or a result of the step, is not finite
    // where it must be.
    void checkInputs(const void* const* inputs, std::int64_t micro_batch) const;
    void checkResults(std::size_t step) const;
    // Points the steps at the inputs and outputs of micro-batch number `micro_batch`.
    void bind(const void* const* inputs, void* const* outputs, std::int64_t micro_batch);
    void execute(std::size_t step);
    // Waits until other devices have done all work.
    void finish();
    // The same after a failure, whose error is the one to tell: work that was submitted before it may still read inputs
    // and write results.
    void drain() noexcept;
    void takeSpans(std::vector<DeviceSpan>* spans);
    void stopSpans() noexcept;
    void show(std::int32_t value, const TensorDesc& desc, const void* data, const ValueHook& hook);

    // One device's part.
    struct Arena {
      Buffer memory;
      char* scratch = nullptr;
      Device* device = nullptr;
      std::unique_ptr<DeviceQueue> queue;  // null: the host's
      bool is_timed = false;               // true: the queue times its work, in runTimed()
    };

    const Plan& plan_;
    std::vector<Arena> arenas_;
    std::vector<void*> pointers_;                     // all steps' operands, back to back
    std::vector<std::unique_ptr<ExecState>> states_;  // per step
  };

 private:
  explicit Plan(PlanParts parts) : parts_(std::move(parts)) {}

  // Turns the plan of one micro-batch into the plan of all of them. `inputs`: of the whole batch.
  void repeat(const MicroBatches& micro_batches, const std::vector<TensorDesc>& inputs);

  PlanParts parts_;
  MicroBatches micro_batches_{1, 1, {}, {}};
};

}  // namespace ipex_studio
