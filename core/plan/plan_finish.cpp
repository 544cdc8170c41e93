// The last third of PlanCompiler: outputs, arena, constants, pointer table.
#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/base/huge_pages.h"
#include "core/plan/memory_planner.h"
#include "core/plan/plan_compiler.h"

namespace ipex_studio {

// Each result is row-major in memory of its own. Where the value fills a buffer of the arena alone, that buffer simply
// becomes the caller's; otherwise it is copied out.
void PlanCompiler::bindOutputs() {
  node_ = static_cast<std::int32_t>(spec_.nodes.size());
  for (std::size_t o = 0; o < spec_.outputs.size(); ++o) {
    const Label label{"result", {}};
    const TensorDesc wanted = contiguousDesc(values_[spec_.outputs[o]].desc.dtype, values_[spec_.outputs[o]].desc.dims);
    std::int32_t value = inLayout(spec_.outputs[o], wanted, label);
    if (!fillsItsBuffer(values_[value])) value = reorderStep(value, wanted, label);
    Buffer& buffer = buffers_[placeOf(values_[value]).buffer];
    buffer.home = Plan::Home::kOutput;
    buffer.index = static_cast<std::int32_t>(o);
    plan_->outputs_.push_back(wanted);
  }
}

void PlanCompiler::planArena() {
  std::vector<BufferLifetime> lifetimes(buffers_.size());
  std::vector<bool> seen(buffers_.size(), false);
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const auto touch = [&](std::int32_t value) {
      if (value < 0 || values_[value].buffer < 0) return;
      const auto buffer = static_cast<std::size_t>(placeOf(values_[value]).buffer);
      if (!seen[buffer]) lifetimes[buffer].first_step = static_cast<std::int32_t>(s);
      seen[buffer] = true;
      lifetimes[buffer].last_step = static_cast<std::int32_t>(s);
    };
    for (std::int32_t value : steps_[s].src) touch(value);
    for (std::int32_t value : steps_[s].dst) touch(value);
  }
  for (std::size_t b = 0; b < buffers_.size(); ++b) {
    const bool in_arena = seen[b] && buffers_[b].home == Plan::Home::kArena;
    lifetimes[b].bytes = in_arena ? buffers_[b].bytes : 0;
  }
  plan_->scratch_offset_ = planMemory(lifetimes);
  std::size_t scratch = 0;
  for (const PendingStep& step : steps_) scratch = std::max(scratch, step.op->scratch_bytes);
  plan_->arena_bytes_ = plan_->scratch_offset_ + scratch;
  for (std::size_t b = 0; b < buffers_.size(); ++b) buffer_offsets_.push_back(lifetimes[b].offset);
  for (PendingStep& step : steps_) {
    const Place place = placeOf(values_[step.dst[0]]);
    const auto buffer = static_cast<std::size_t>(place.buffer);
    const bool in_arena = buffers_[buffer].home == Plan::Home::kArena;
    const bool is_part = values_[step.dst[0]].buffer != place.buffer;
    step.record.arena_begin = in_arena ? buffer_offsets_[buffer] + place.offset : -1;
    step.record.arena_size =
        static_cast<std::int64_t>(is_part ? values_[step.dst[0]].desc.bytes() : buffers_[buffer].bytes);
    step.record.last_use = lifetimes[buffer].last_step;
  }
}

Plan::Slot PlanCompiler::slotOf(std::int32_t index) const {
  if (index < 0) return {};
  const Value& value = values_[index];
  if (value.constant != nullptr) return {Plan::Home::kConstant, 0, 0, value.constant};
  const Place place = placeOf(value);
  const Buffer& buffer = buffers_[place.buffer];
  if (buffer.home == Plan::Home::kArena)
    return {Plan::Home::kArena, 0, buffer_offsets_[place.buffer] + place.offset, nullptr};
  return {buffer.home, buffer.index, place.offset, nullptr};
}

// Constants that steps read where they lie.
void PlanCompiler::moveConstants() const {
  std::map<const void*, std::size_t> constants;
  for (const PendingStep& step : steps_) {
    for (const std::int32_t value : step.src) {
      if (value >= 0 && values_[value].constant != nullptr) {
        std::size_t& bytes = constants[values_[value].constant];
        bytes = std::max(bytes, values_[value].desc.bytes());
      }
    }
  }
  for (const auto& [data, bytes] : constants) collapseIntoHugePages(data, bytes);
}

void PlanCompiler::makeSlots() {
  plan_->inputs_ = request_.tensor_inputs;
  for (PendingStep& pending : steps_) {
    Plan::Step step;
    step.op = pending.op;
    step.first_pointer = static_cast<std::int32_t>(plan_->slots_.size());
    step.src_count = static_cast<std::int32_t>(pending.src.size());
    for (const auto* side : {&pending.src, &pending.dst}) {
      for (std::int32_t value : *side) {
        const Plan::Slot slot = slotOf(value);
        const bool patched = slot.home == Plan::Home::kInput || slot.home == Plan::Home::kOutput;
        if (patched) plan_->io_pointers_.push_back(static_cast<std::int32_t>(plan_->slots_.size()));
        plan_->slots_.push_back(slot);
      }
    }
    for (const std::int32_t value : pending.dst) step.values.push_back(value < spec_values_ ? value : -1);
    plan_->steps_.push_back(std::move(step));
    plan_->step_records_.push_back(std::move(pending.record));
  }
}

}  // namespace ipex_studio
