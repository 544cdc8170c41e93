// Weight-only quantized (WOQ) weights (core/op/woq_weights.h) as the FP32 tensors that they stand for.
#pragma once

#include "core/op/woq_weights.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Returns the FP32 [N, depth] of weights in groups; `scales` [N, groups]; `levels`: of 4 bits. Throws Error(kBadModel)
// if sizes or types do not fit.
at::Tensor dequantizeGroups(const at::Tensor& integers, const at::Tensor& scales, int bits, std::int64_t group,
                            std::int64_t depth, const NibbleLevels& levels = kEvenLevels);

// Returns the FP32 [V, E] of a table u8 [V, E + kRowParameterBytes]. Throws Error(kBadModel) if sizes or types do not
// fit.
at::Tensor dequantizeRows(const at::Tensor& table);

}  // namespace ipex_studio
