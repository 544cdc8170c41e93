// Lifetimes of buffers, their offsets in one arena per device, and the slots of all pointers.
#include "core/plan/plan_arena.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/plan/memory_planner.h"

namespace ipex_studio {
namespace {

class ArenaLayout {
 public:
  ArenaLayout(const PlanValues& values, const KeptConstants& kept, PlanSteps& steps, PlanParts* parts)
      : values_(values), kept_(kept), steps_(steps.all()), parts_(*parts) {}

  void run() {
    findLifetimes();
    addArenas();
    for (PlanArena& arena : parts_.arenas) placeBuffers(&arena);
    for (PlanSteps::Step& step : steps_) recordPlace(&step);
    listConstants();
    for (PlanSteps::Step& step : steps_) addStep(&step);
  }

 private:
  const PlanValues::Buffer& bufferOf(const PlanValues::Place& place) const { return values_.buffer(place.buffer); }

  void findLifetimes() {
    lifetimes_.resize(values_.bufferCount());
    std::vector<bool> seen(lifetimes_.size(), false);
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      const auto touch = [&](std::int32_t value) {
        if (value < 0 || values_[value].buffer < 0) return;
        const auto buffer = static_cast<std::size_t>(values_.placeOf(value).buffer);
        if (!seen[buffer]) lifetimes_[buffer].first_step = static_cast<std::int32_t>(s);
        seen[buffer] = true;
        lifetimes_[buffer].last_step = static_cast<std::int32_t>(s);
      };
      for (std::int32_t value : steps_[s].src) touch(value);
      for (std::int32_t value : steps_[s].dst) touch(value);
    }
    for (std::size_t b = 0; b < lifetimes_.size(); ++b) {
      const PlanValues::Buffer& buffer = values_.buffer(static_cast<std::int32_t>(b));
      lifetimes_[b].bytes = seen[b] && buffer.home == SlotHome::kArena ? buffer.bytes : 0;
    }
  }

  void addArenas() {
    parts_.arenas.push_back({&hostDevice()});
    for (const PlanSteps::Step& step : steps_) {
      if (arenaOf(step.device->id()) < 0) parts_.arenas.push_back({step.device});
    }
  }

  // The number of the device's arena; -1: there is none yet.
  std::int32_t arenaOf(const DeviceId& device) const {
    for (std::size_t a = 0; a < parts_.arenas.size(); ++a) {
      if (parts_.arenas[a].device->id() == device) return static_cast<std::int32_t>(a);
    }
    return -1;
  }

  // An arena holds the buffers of its device, and behind them the scratch memory of its most demanding step.
  void placeBuffers(PlanArena* arena) {
    std::vector<BufferLifetime> own = lifetimes_;
    for (std::size_t b = 0; b < own.size(); ++b) {
      if (values_.buffer(static_cast<std::int32_t>(b)).device != arena->device->id()) own[b].bytes = 0;
    }
    arena->scratch_offset = planMemory(own);
    for (std::size_t b = 0; b < own.size(); ++b) {
      if (own[b].bytes > 0 || lifetimes_[b].bytes == 0) lifetimes_[b].offset = own[b].offset;
    }
    std::size_t scratch = 0;
    for (const PlanSteps::Step& step : steps_) {
      if (step.device == arena->device) scratch = std::max(scratch, step.op->scratch_bytes);
    }
    arena->bytes = arena->scratch_offset + scratch;
  }

  std::int64_t offsetOf(const PlanValues::Place& place) const {
    return lifetimes_[static_cast<std::size_t>(place.buffer)].offset + place.offset;
  }

  void recordPlace(PlanSteps::Step* step) const {
    const PlanValues::Value& result = values_[step->dst[0]];
    const PlanValues::Place place = values_.placeOf(step->dst[0]);
    const bool is_part = result.buffer != place.buffer;
    step->record.arena_begin = bufferOf(place).home == SlotHome::kArena ? offsetOf(place) : -1;
    step->record.arena_size = static_cast<std::int64_t>(is_part ? result.desc.bytes() : bufferOf(place).bytes);
    step->record.last_use = lifetimes_[static_cast<std::size_t>(place.buffer)].last_step;
  }

  void listConstants() const {
    std::map<const void*, std::size_t> constants;
    for (const PlanSteps::Step& step : steps_) {
      for (const std::int32_t value : step.src) {
        if (value >= 0 && values_[value].constant != nullptr && values_[value].desc.device.isHost()) {
          std::size_t& bytes = constants[values_[value].constant];
          bytes = std::max(bytes, values_[value].desc.bytes());
        }
      }
    }
    for (const auto& [data, bytes] : constants) parts_.constants.push_back({{data, bytes}, kept_.isComputed(data)});
  }

  PlanSlot slotOf(std::int32_t index) const {
    if (index < 0) return {};
    if (values_[index].constant != nullptr) return {SlotHome::kConstant, 0, 0, values_[index].constant};
    const PlanValues::Place place = values_.placeOf(index);
    const PlanValues::Buffer& buffer = bufferOf(place);
    if (buffer.home == SlotHome::kArena) return {SlotHome::kArena, arenaOf(buffer.device), offsetOf(place), nullptr};
    return {buffer.home, buffer.index, place.offset, nullptr};
  }

  void addStep(PlanSteps::Step* pending) {
    PlanStep step;
    step.op = pending->op;
    step.first_pointer = static_cast<std::int32_t>(parts_.slots.size());
    step.src_count = static_cast<std::int32_t>(pending->src.size());
    step.arena = arenaOf(pending->device->id());
    for (const auto* side : {&pending->src, &pending->dst}) {
      for (std::int32_t value : *side) {
        const PlanSlot slot = slotOf(value);
        const bool patched = slot.home == SlotHome::kInput || slot.home == SlotHome::kOutput;
        if (patched) parts_.io_pointers.push_back(static_cast<std::int32_t>(parts_.slots.size()));
        parts_.slots.push_back(slot);
      }
    }
    for (const std::int32_t value : pending->dst) step.values.push_back(values_.isOfSpec(value) ? value : -1);
    parts_.steps.push_back(std::move(step));
    parts_.step_records.push_back(std::move(pending->record));
  }

  const PlanValues& values_;
  const KeptConstants& kept_;
  std::vector<PlanSteps::Step>& steps_;
  PlanParts& parts_;
  std::vector<BufferLifetime> lifetimes_;  // per buffer; with its offset once it is placed
};

}  // namespace

void layOutPlan(const PlanValues& values, const KeptConstants& kept, PlanSteps& steps, PlanParts* parts) {
  ArenaLayout(values, kept, steps, parts).run();
  parts->dispatch_records = std::move(steps.dispatches());
}

}  // namespace ipex_studio
