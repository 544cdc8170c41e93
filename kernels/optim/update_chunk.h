// Parts of tensors as the rules take them, and the functions of one instruction set that go through them.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "kernels/optim/update_scalars.h"

namespace ipex_studio {

// `count` elements of one tensor.
struct UpdateChunk {
  float* parameter = nullptr;
  const float* gradient = nullptr;
  std::array<float*, kMaxStates> states{};
  std::size_t count = 0;
};

struct UpdateFunctions {
  // Applies scalars.rule.
  void (*update)(const UpdateScalars& scalars, const UpdateChunk& chunk);
  // Applies scalars.before, and adds to `squares` the sums of squares that applyNorms() takes.
  void (*before)(const UpdateScalars& scalars, const UpdateChunk& chunk, double* squares);
  // The sum of the squares of scale · gradient; infinite or NaN if one of them is.
  double (*squares)(float scale, const UpdateChunk& chunk);
};

// Those of the best instruction set that the machine has and the tier `isa` allows; an empty one allows all.
UpdateFunctions updateFunctions(const std::string& isa);

}  // namespace ipex_studio
