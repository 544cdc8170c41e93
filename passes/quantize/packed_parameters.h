// Contents of the packed parameters of PyTorch's quantized operators. Private to canonicalize-quantized.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

struct PackedParameters {
  at::Tensor integers;  // s8, contiguous: [O, C/g, H, W] or [N, K]
  at::Tensor scales;    // f64 [O]
  at::Tensor bias;      // f32 [O]; undefined: none
  // Convolutions only.
  std::vector<std::int64_t> stride, padding, dilation;
  std::int64_t groups = 1;
};

// Unpacks a constant Conv2dPackedParamsBase or LinearPackedParamsBase, whichever engine (FBGEMM, QNNPACK) packed it.
// nullopt with
// the reason in `why` when the value is no such constant, or its weights are not symmetric s8.
std::optional<PackedParameters> unpackConvolution2d(const torch::jit::Value* packed, std::string* why);
std::optional<PackedParameters> unpackLinear(const torch::jit::Value* packed, std::string* why);

}  // namespace ipex_studio
