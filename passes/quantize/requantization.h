// Scales of integers as post-operations. Private to the passes that read and write integers.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/fused_op.h"
#include "core/lower/lowering.h"
#include "core/quantization/observer.h"
#include "core/record/options.h"

namespace ipex_studio {

// real → integer and back: linear(1/s, z) and linear(s, -s·z).
PostOp toInteger(const AffineParameters& affine);
PostOp toReal(const AffineParameters& affine);

// Adds `op` behind the chain; neighbouring factors and offsets become one, linear(1,0) none.
void appendPostOp(std::vector<PostOp>* chain, const PostOp& op);

// v ± alpha·s·(q - z) for a sum `post_op` whose operand is integers.
void appendSumOfIntegers(std::vector<PostOp>* chain, PostOp post_op, const AffineParameters& affine);

// 8, or 7 where the CPU adds pairs of products in 16 bits.
int integerWeightBits(const OptimizeOptions& options);

// A pointwise node before `before` with the type of `like` and `dtype`: "u8" with kByte, else FP32.
torch::jit::Value* writePointwise(Rewriter& rewriter, torch::jit::Value* x, std::vector<PostOp> chain,
                                  const std::vector<torch::jit::Value*>& operands, at::ScalarType dtype,
                                  torch::jit::Node* before);

// The value of an operand, made before `before` where it is none yet.
torch::jit::Value* operandValue(Rewriter& rewriter, const LoweredOperand& operand, torch::jit::Node* before);

void setDtype(torch::jit::Value* value, at::ScalarType dtype);

// Weights of a product of integers with their scales.
struct IntegerWeights {
  at::Tensor integers;  // s8
  at::Tensor scales;    // f32 or f64 [O]
  at::Tensor bias;      // [O]; undefined: none
};

// Sets operands 1 and 2 of a convolution or linear layer, and its first post operands: what one step of the integer sum
// is worth per output channel, and the bias.
void setIntegerWeights(Rewriter& rewriter, const IntegerWeights& weights, double source_scale, FusedOp* op,
                       torch::jit::Node* before);

}  // namespace ipex_studio
