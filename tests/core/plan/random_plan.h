// Random plan specs over every operation and view, made from a seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/op/kernel.h"
#include "core/op/plan_spec.h"
#include "tests/core/op/random_spec.h"

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
  std::vector<Tensor> inputs;  // one point of the signature; integer inputs have an absent desc
  std::vector<std::int64_t> ints;
  std::vector<Tensor> constants;
};

RandomPlan makeRandomPlan(std::uint64_t seed, int nodes);

// Makes new values, and with `batch` > 0 another size of the first dimension of every input.
std::vector<Tensor> otherInputs(const RandomPlan& plan, std::uint64_t seed, std::int64_t batch);

}  // namespace ipex_studio::testing
