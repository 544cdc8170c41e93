// Scale and zero point of a value's integers, read from the operation that wrote them.
#pragma once

#include <optional>

#include "core/quantization/observer.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Returns scale and zero point of a u8 or s8 value, from the tail `linear(1/s, z)` of its producer's chain, through
// views, pools and concatenations that move integers. nullopt for values that are not integers, or if the producer does
// not tell.
std::optional<AffineParameters> quantizationOf(const torch::jit::Value* value);

// The real values that a tensor of the graph stands for, as FP32: of integers those that its producer's scale and zero
// point give. nullopt for integers of which neither is known.
std::optional<at::Tensor> realValue(torch::jit::Value* value, const at::Tensor& now);

// Scale and zero point as quantizationOf() gives them, taken from further producers through operations that move
// integers.
std::optional<AffineParameters> affineOf(torch::jit::Value* value);

}  // namespace ipex_studio
