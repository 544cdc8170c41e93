// Weights as symmetric integers, one scale per output channel (axis 0).
#pragma once

#include <optional>
#include <vector>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

struct QuantizedWeights {
  at::Tensor integers;  // s8, the sizes of the weights
  at::Tensor scales;    // f32 [O]
};

// Quantizes `weights`: FP32, rank >= 2, finite. Each channel's scale is the one of least squared error among the full
// range and some that clip a little. `bits`: 8 (±127) or 7 (±63).
QuantizedWeights quantizeWeights(const at::Tensor& weights, int bits);

// Finds the integers of weights that were rounded before, and scaled per channel since, up to 1e-3 of a step: each
// channel's scale is the largest step of which all its weights are multiples, within -128 … 127. nullopt if a channel
// has none. `weights`: FP32, rank >= 2.
std::optional<QuantizedWeights> weightsOnGrid(const at::Tensor& weights);

// Returns the shift that rounding the weights causes in the mean of each output channel, to be added to the bias: Σ (w
// - ŵ) · mean of the input channel, f64 [O]. M. Nagel et al.: Data-Free Quantization through Weight Equalization and
// Bias Correction, ICCV 2019. `means`: per input channel of all groups. Empty if their number does not fit.
at::Tensor biasShift(const at::Tensor& weights, const QuantizedWeights& quantized, const std::vector<double>& means,
                     std::int64_t groups);

// Returns the factors that move the difficulty from activations to weights: f_j = max|x_j|^α / max|w_j|^(1-α); x is
// divided, w multiplied by them. G. Xiao et al.: SmoothQuant, ICML 2023. Empty if sizes do not fit.
std::vector<double> smoothingFactors(const std::vector<double>& input_absmax, const std::vector<at::Tensor>& weights,
                                     double alpha);

}  // namespace ipex_studio
