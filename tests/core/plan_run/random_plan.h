// Seeded plan specs over every operation and view, and an interpreter of them that knows nothing of layouts or arenas.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/kernel.h"
#include "core/plan/plan_spec.h"
#include "tests/core/plan/random_spec.h"

namespace ipex_studio::testing {

// A dense row-major tensor: f32 values, or s64 ids.
struct Tensor {
  TensorDesc desc;
  std::vector<float> values;
  std::vector<std::int64_t> ids;
  const void* data() const { return desc.dtype == DType::kS64 ? static_cast<const void*>(ids.data()) : values.data(); }
};

struct RandomPlan {
  PlanSpec spec;
  std::vector<Tensor> inputs;      // one point of the signature; integer inputs have an absent desc
  std::vector<std::int64_t> ints;
  std::vector<Tensor> constants;
};

RandomPlan makeRandomPlan(std::uint64_t seed, int nodes);

// New values, and with `batch` > 0 another size of the first dimension of every input.
std::vector<Tensor> otherInputs(const RandomPlan& plan, std::uint64_t seed, std::int64_t batch);

// Runs node by node with the last kernel of each kind's list, on dense copies. Empty when a shape does not fit.
std::optional<std::vector<Tensor>> interpret(const PlanSpec& spec, const std::vector<Tensor>& inputs, const std::vector<std::int64_t>& ints,
                                             const std::vector<Tensor>& constants, const KernelList& kernels);

}  // namespace ipex_studio::testing
