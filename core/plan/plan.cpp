// Compiles plans, repeats them over micro-batches, and runs their steps.
#include "core/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/plan/batch_independence.h"
#include "core/plan/finite_checks.h"
#include "core/plan/plan_compiler.h"

namespace ipex_studio {
std::unique_ptr<Plan> Plan::compile(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels,
                                    WeightCache& weights) {
  const auto compiled = [&](const PlanRequest& sized) {
    return std::unique_ptr<Plan>(new Plan(PlanCompiler(spec, sized, kernels, weights).compile()));
  };
  if (!request.micro_batches) return compiled(request);
  const PlanRequest micro_batch = withSamples(request, request.micro_batches->inputs, request.micro_batches->samples);
  std::unique_ptr<Plan> plan = compiled(micro_batch);
  plan->repeat(*request.micro_batches, request.tensor_inputs);
  return plan;
}

void Plan::repeat(const MicroBatches& micro_batches, const std::vector<TensorDesc>& inputs) {
  IPEX_CHECK(micro_batches.output_rows.size() == parts_.outputs.size(), "micro_batches of another plan");
  micro_batches_ = micro_batches;
  parts_.inputs = inputs;
  for (const std::int32_t pointer : parts_.io_pointers) {
    PlanSlot& slot = parts_.slots[static_cast<std::size_t>(pointer)];
    const auto index = static_cast<std::size_t>(slot.index);
    if (slot.home == SlotHome::kOutput)
      slot.sample_bytes = micro_batches.output_rows[index] * parts_.outputs[index].rowBytes();
    if (slot.home == SlotHome::kInput && micro_batches.inputs[index]) slot.sample_bytes = inputs[index].rowBytes();
  }
  for (std::size_t o = 0; o < parts_.outputs.size(); ++o) {
    Dims dims = parts_.outputs[o].dims;
    dims[0] = micro_batches.output_rows[o] * micro_batches.batch;
    parts_.outputs[o] = contiguousDesc(parts_.outputs[o].dtype, dims);
  }
  for (StepRecord& record : parts_.step_records) {
    record.micro_batches = static_cast<std::int32_t>(micro_batches.count());
    record.flops *= micro_batches.count();
    record.bytes *= micro_batches.count();
  }
}

std::size_t Plan::arenaBytes() const {
  std::size_t bytes = 0;
  for (const PlanArena& arena : parts_.arenas) bytes += arena.bytes;
  return bytes;
}

Plan::Instance::Instance(const Plan& plan, HostArena host_arena)
    : plan_(plan), pointers_(plan.parts_.slots.size(), nullptr) {
  for (const PlanArena& arena : plan.parts_.arenas) {
    const bool borrowed = arena.device->isHost() && host_arena == HostArena::kBorrowed;
    Arena own{Buffer(borrowed ? 0 : arena.bytes, *arena.device), nullptr, arena.device, nullptr, false};
    if (!borrowed) own.scratch = static_cast<char*>(own.memory.data()) + arena.scratch_offset;
    if (!arena.device->isHost()) own.queue = arena.device->newQueue();
    arenas_.push_back(std::move(own));
  }
  for (std::size_t p = 0; p < pointers_.size(); ++p) {
    const PlanSlot& slot = plan.parts_.slots[p];
    if (slot.home == SlotHome::kArena && arenas_[static_cast<std::size_t>(slot.index)].memory.bytes() > 0) {
      const Arena& arena = arenas_[static_cast<std::size_t>(slot.index)];
      pointers_[p] = static_cast<char*>(arena.memory.data()) + slot.offset;
    }
    // Kernels read sources only; the table is shared by sources and destinations.
    if (slot.home == SlotHome::kConstant) pointers_[p] = const_cast<void*>(slot.constant);
  }
  for (const PlanStep& step : plan.parts_.steps) {
    states_.push_back(step.op->newState());
    if (states_.back()) states_.back()->queue = arenas_[static_cast<std::size_t>(step.arena)].queue.get();
  }
  const PreparedOp* next = nullptr;
  for (std::size_t s = states_.size(); s-- > 0;) {
    if (states_[s]) states_[s]->next = next;
    const PreparedOp& op = *plan.parts_.steps[s].op;
    // Weights that are read without a prefetch range evict memory that is prefetched for a later step.
    if (std::find(op.packed.begin(), op.packed.end(), true) != op.packed.end())
      next = op.firstReads(0).bytes > 0 ? &op : nullptr;
  }
}

void Plan::Instance::setHostArena(void* memory) {
  char* const begin = static_cast<char*>(memory);
  Arena& host = arenas_.front();
  if (host.scratch == begin + plan_.parts_.arenas.front().scratch_offset) return;
  host.scratch = begin + plan_.parts_.arenas.front().scratch_offset;
  for (std::size_t p = 0; p < pointers_.size(); ++p) {
    const PlanSlot& slot = plan_.parts_.slots[p];
    if (slot.home == SlotHome::kArena && slot.index == 0) pointers_[p] = begin + slot.offset;
  }
}

namespace {

[[noreturn]] void refuseNotFinite(const std::string& what) {
  throw Error(ExitCode::kFailure, fmt::format("The plan cannot run on these inputs: {} holds NaN or infinite numbers, "
                                              "which a kernel would turn into other numbers.",
                                              what));
}

}  // namespace

void Plan::Instance::checkInputs(const void* const* inputs, std::int64_t micro_batch) const {
  for (const FiniteCheck& check : plan_.parts_.finite.inputs) {
    const auto input = static_cast<std::size_t>(check.index);
    std::int64_t offset = 0;
    if (input < plan_.micro_batches_.inputs.size() && plan_.micro_batches_.inputs[input])
      offset = plan_.micro_batches_.firstSample(micro_batch) * plan_.parts_.inputs[input].rowBytes();
    if (!passes(check, plan_.parts_.finite.any_above, static_cast<const char*>(inputs[input]) + offset))
      refuseNotFinite(fmt::format("input {}", check.index + 1));
  }
}

void Plan::Instance::checkResults(std::size_t step) const {
  const auto& checks = plan_.parts_.finite.results;
  for (const FiniteCheck& check : checks) {
    if (check.index != static_cast<std::int32_t>(step)) continue;
    const PlanStep& checked = plan_.parts_.steps[step];
    const auto pointer = static_cast<std::size_t>(checked.first_pointer + checked.src_count + check.result);
    if (!passes(check, plan_.parts_.finite.any_above, pointers_[pointer]))
      refuseNotFinite(fmt::format("the result of '{}'", plan_.parts_.step_records[step].name));
  }
}

void Plan::Instance::bind(const void* const* inputs, void* const* outputs, std::int64_t micro_batch) {
  const std::int64_t sample = plan_.micro_batches_.firstSample(micro_batch);
  for (std::int32_t pointer : plan_.parts_.io_pointers) {
    const PlanSlot& slot = plan_.parts_.slots[static_cast<std::size_t>(pointer)];
    char* base = slot.home == SlotHome::kOutput ? static_cast<char*>(outputs[slot.index])
                                                : const_cast<char*>(static_cast<const char*>(inputs[slot.index]));
    pointers_[static_cast<std::size_t>(pointer)] = base + slot.offset + sample * slot.sample_bytes;
  }
}

void Plan::Instance::execute(std::size_t index) {
  const PlanStep& step = plan_.parts_.steps[index];
  void** first = pointers_.data() + step.first_pointer;
  step.op->execute(states_[index].get(), first, first + step.src_count,
                   arenas_[static_cast<std::size_t>(step.arena)].scratch);
  if (ExecState* state = states_[index].get()) {
    if (const char* why = state->takeFailure()) {
      throw Error(ExitCode::kFailure,
                  fmt::format("The model cannot run on these inputs: '{}': {}; give it other inputs.",
                              plan_.parts_.step_records[index].name, why));
    }
  }
}

void Plan::Instance::finish() {
  if (arenas_.size() == 1) return;  // the host's
  for (const Arena& arena : arenas_) {
    if (arena.queue) arena.queue->finish();
  }
}

void Plan::Instance::drain() noexcept {
  for (const Arena& arena : arenas_) {
    try {
      if (arena.queue) arena.queue->finish();
    } catch (const std::exception&) {  // what failed first is thrown
    }
  }
}

void Plan::Instance::run(const void* const* inputs, void* const* outputs) try {
  for (std::int64_t micro_batch = 0; micro_batch < plan_.micro_batches_.count(); ++micro_batch) {
    checkInputs(inputs, micro_batch);
    bind(inputs, outputs, micro_batch);
    for (std::size_t step = 0; step < plan_.parts_.steps.size(); ++step) {
      execute(step);
      if (plan_.parts_.steps[step].is_checked) checkResults(step);
    }
  }
  finish();
} catch (...) {
  drain();
  throw;
}

// Shows data of another device as a copy on the host.
void Plan::Instance::show(std::int32_t value, const TensorDesc& desc, const void* data, const ValueHook& hook) {
  if (desc.device.isHost()) return hook(value, desc, data);
  for (const Arena& arena : arenas_) {
    if (arena.device->id() != desc.device) continue;
    TensorDesc shown = desc;
    shown.device = {};
    const Buffer copy(desc.bytes());
    arena.queue->copy(copy.data(), data, desc.bytes());
    hook(value, shown, copy.data());
  }
}

void Plan::Instance::runObserved(const void* const* inputs, void* const* outputs, const ValueHook& hook) try {
  for (std::size_t input = 0; input < plan_.parts_.inputs.size(); ++input) {
    if (!plan_.parts_.inputs[input].absent())
      show(static_cast<std::int32_t>(input), plan_.parts_.inputs[input], inputs[input], hook);
  }
  if (plan_.micro_batches_.count() > 1) return run(inputs, outputs);
  bind(inputs, outputs, 0);
  for (std::size_t index = 0; index < plan_.parts_.steps.size(); ++index) {
    execute(index);
    const PlanStep& step = plan_.parts_.steps[index];
    for (std::size_t d = 0; d < step.values.size(); ++d) {
      const auto pointer = static_cast<std::size_t>(step.first_pointer + step.src_count) + d;
      if (step.values[d] >= 0) show(step.values[d], step.op->dst[d], pointers_[pointer], hook);
    }
  }
  finish();
} catch (...) {
  drain();
  throw;
}

// Puts the times of devices with clocks of their own in the place of those that the host needed to ask for the work.
void Plan::Instance::takeSpans(std::vector<DeviceSpan>* spans) {
  for (std::size_t a = 0; a < arenas_.size(); ++a) {
    if (!arenas_[a].is_timed) continue;
    const std::vector<DeviceSpan> taken = arenas_[a].queue->endSpans();
    std::size_t next = 0;
    for (std::size_t step = 0; step < spans->size(); ++step) {
      if (plan_.parts_.steps[step].arena == static_cast<std::int32_t>(a)) (*spans)[step] = taken[next++];
    }
  }
}

void Plan::Instance::stopSpans() noexcept {
  for (const Arena& arena : arenas_) {
    try {
      if (arena.is_timed) arena.queue->endSpans();
    } catch (const std::exception&) {  // what failed first is thrown
    }
  }
}

void Plan::Instance::runTimed(const void* const* inputs, void* const* outputs, std::int64_t* begin_ns,
                              std::int64_t* elapsed_ns, const std::function<std::int64_t()>& clock_ns) {
  const auto now = [&] { return clock_ns ? clock_ns() : nowNs(); };
  std::vector<DeviceSpan> spans(plan_.parts_.steps.size());
  for (std::int64_t micro_batch = 0; micro_batch < plan_.micro_batches_.count(); ++micro_batch) {
    checkInputs(inputs, micro_batch);
    bind(inputs, outputs, micro_batch);
    for (Arena& arena : arenas_) arena.is_timed = arena.queue && !clock_ns && arena.queue->startSpans();
    std::optional<std::int64_t> end;  // of the step before
    try {
      for (std::size_t step = 0; step < spans.size(); ++step) {
        const Arena& arena = arenas_[static_cast<std::size_t>(plan_.parts_.steps[step].arena)];
        if (arena.is_timed) arena.queue->beginSpan();
        // One step follows the other at once: reading the clock twice between them would be time of no step.
        const std::int64_t begin = end && !clock_ns && !arena.queue ? *end : now();
        execute(step);
        if (plan_.parts_.steps[step].is_checked) checkResults(step);
        if (arena.queue && !arena.is_timed) arena.queue->finish();
        end = now();
        spans[step] = {begin, *end - begin};
      }
    } catch (...) {
      stopSpans();
      throw;
    }
    takeSpans(&spans);
    for (std::size_t step = 0; step < spans.size(); ++step) {
      begin_ns[step] = micro_batch == 0 ? spans[step].begin_ns : begin_ns[step];
      elapsed_ns[step] = micro_batch == 0 ? spans[step].elapsed_ns : elapsed_ns[step] + spans[step].elapsed_ns;
    }
  }
  if (plan_.micro_batches_.count() == 1) return;
  for (std::size_t step = 1; step < plan_.parts_.steps.size(); ++step)
    begin_ns[step] = begin_ns[step - 1] + elapsed_ns[step - 1];
}

}  // namespace ipex_studio
