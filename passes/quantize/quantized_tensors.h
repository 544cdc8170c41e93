// PyTorch's own quantized tensors in a graph: rounding to integers and back by stock operators, which any PyTorch runs.
// Private to the passes that follow a recipe.
#pragma once

#include "passes/quantize/requantization.h"

namespace ipex_studio {

// dequantize(quantize_per_tensor(x)) before `before`, of the type of `x`.
torch::jit::Value* writeRounded(Rewriter& rewriter, torch::jit::Value* x, const AffineParameters& affine,
                                torch::jit::Node* before);

// The same with the range that `x` has in each call.
torch::jit::Value* writeRoundedByItself(Rewriter& rewriter, torch::jit::Value* x, torch::jit::Node* before);

// Lets a convolution or linear layer read `x`, and weights and bias from these; its weights are a quantized constant.
void readQuantized(Rewriter& rewriter, torch::jit::Node* product, torch::jit::Value* x, const IntegerWeights& weights);

}  // namespace ipex_studio
