// Activations of PyTorch's quantized tensors as chains on plain integers. Private to canonicalize-quantized.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/fused_op.h"
#include "core/quantization/observer.h"

namespace ipex_studio {

// Scale and zero point of a quint8 result, where both are constant and sound.
std::optional<AffineParameters> constantQuantization(const torch::jit::Value* scale,
                                                     const torch::jit::Value* zero_point);

struct QuantizedActivation {
  std::vector<PostOp> post_ops;  // integers in, integers out
  AffineParameters result;       // what they mean then
};

// Reads relu, relu6, hardtanh, clamp, sigmoid, hardsigmoid, tanh, hardswish and leaky_relu on integers with scale and
// zero point `source`; nullopt if a bound or a scale is not constant.
std::optional<QuantizedActivation> readQuantizedActivation(const torch::jit::Node* node,
                                                           const AffineParameters& source);

}  // namespace ipex_studio
