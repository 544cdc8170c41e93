// Parts of tensors as the rules take them, and the functions of one instruction set that go through them.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "kernels/optim/update_scalars.h"

namespace ipex_studio {

// `count` elements of one tensor, in whatever form they are kept.
struct UpdateChunk {
  float* parameter = nullptr;
  std::uint16_t *half = nullptr, *lower = nullptr;
  ParameterForm form = ParameterForm::kSingle;
  const void* gradient = nullptr;
  DType gradient_dtype = DType::kF32;
  std::array<float*, kMaxStates> states{};
  std::size_t count = 0;
};

// The part of `chunk` that begins `offset` elements behind its start.
inline UpdateChunk partOf(const UpdateChunk& chunk, std::size_t offset, std::size_t count) {
  UpdateChunk part = chunk;
  if (part.parameter) part.parameter += offset;
  if (part.half) part.half += offset;
  if (part.lower) part.lower += offset;
  part.gradient = static_cast<const char*>(chunk.gradient) + offset * elementBytes(chunk.gradient_dtype);
  for (float*& state : part.states) state = state ? state + offset : nullptr;
  part.count = count;
  return part;
}

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
