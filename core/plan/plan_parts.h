// PlanParts: steps, pointers and memory of a compiled plan. PlanCompiler fills it, Plan runs it. Private to core/plan,
// but for PlanConstant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/op/kernel.h"
#include "core/record/records.h"

namespace ipex_studio {

// The memory that a pointer of a step points into.
enum class SlotHome : std::uint8_t { kAbsent, kArena, kInput, kOutput, kConstant };

// The memory that one instance needs on one device.
struct PlanArena {
  Device* device = &hostDevice();
  std::size_t bytes = 0;  // scratch memory included
  std::size_t scratch_offset = 0;
};

// One pointer of a step.
struct PlanSlot {
  SlotHome home = SlotHome::kAbsent;
  std::int32_t index = 0;   // number of the arena, input or output
  std::int64_t offset = 0;  // bytes into the home
  const void* constant = nullptr;
  std::int64_t sample_bytes = 0;  // from one sample to the next; 0: all samples read the same bytes
};

struct PlanStep {
  std::shared_ptr<const PreparedOp> op;
  std::int32_t first_pointer = 0;  // sources, then destinations
  std::int32_t src_count = 0;
  std::int32_t arena = 0;            // number of its device's arena; for a copy: of the device that is not the host
  std::vector<std::int32_t> values;  // value of the spec per destination; -1: made by the compiler
  bool is_checked = false;           // a result of it is among PlanParts::finite.results
};

// A value that must be finite (finite_checks.h finds them).
struct FiniteCheck {
  std::int32_t index = 0;        // number of the input, or of the step
  std::int32_t result = 0;       // of the step
  bool allows_infinite = false;  // only NaN is refused
  TensorDesc desc;
};

struct FiniteChecks {
  std::vector<FiniteCheck> inputs, results;  // the results in the order of the steps
  AnyAbove any_above = nullptr;              // not null if there are any
};

struct PlanConstant {
  MemoryRange memory;
  bool computed = false;  // by the plan, whose own it is; others are shared by all plans of the model
};

struct PlanParts {
  std::vector<PlanStep> steps;
  std::vector<PlanSlot> slots;            // per pointer
  std::vector<std::int32_t> io_pointers;  // pointers to patch on each run
  std::vector<TensorDesc> inputs;         // as requested; absent for integers
  std::vector<TensorDesc> outputs;        // row-major
  std::vector<WeightCache::Packed> kept;  // constants reordered or computed when the plan was made
  std::size_t computed_bytes = 0;         // size of constants that the plan computed itself
  std::vector<PlanConstant> constants;    // on the host, as far as steps read them where they are; each once
  std::vector<PlanArena> arenas;          // the host's first; then one per further device that steps use
  FiniteChecks finite;                    // empty unless asked for
  double copy_ns = 0;                     // expected of the copies between devices in one run (Device::copyNs)
  std::vector<StepRecord> step_records;
  std::vector<DispatchRecord> dispatch_records;
};

}  // namespace ipex_studio
