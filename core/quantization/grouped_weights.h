// Weights of linear layers with a scale per group along their depth, and embedding tables with a scale per row, in the
// forms of core/op/woq_weights.h.
#pragma once

#include "core/op/woq_weights.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

struct GroupedWeights {
  at::Tensor integers;  // 8 bits: s8 [N, K]; 4 bits: u8 [N, nibbleRowBytes(K)]
  // f32 [N, groupCount(K, group)]; for even levels of 4 bits also negative: the weight that reaches furthest takes
  // level -8.
  at::Tensor scales;
};

// Quantizes `weights`: FP32 [N, K], finite. Each group's scale is the one of least squared error among the full range
// and some that clip a little. `bits`: 8 or 4. `group`: a multiple of kNibbleBlock. `levels`: of 4 bits.
GroupedWeights quantizeGroups(const at::Tensor& weights, int bits, std::int64_t group,
                              const NibbleLevels& levels = kEvenLevels);

// Quantizes a table FP32 [V, E], finite, to u8 [V, E + kRowParameterBytes]: 255 steps between each row's least and
// greatest value.
at::Tensor quantizeRows(const at::Tensor& table);

}  // namespace ipex_studio
