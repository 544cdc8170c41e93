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

}  // namespace ipex_studio
