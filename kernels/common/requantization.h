// The chain of a product of integers as kernels compute it: the scales of weights, the bias, and the operations after
// them up to the first one that does not commute become one multiplication and addition per channel, one operand of the
// result's size and a clamp. relu|linear(a,b) costs no more than mul(0)|add(1) alone.
#pragma once

#include <limits>
#include <vector>

#include "core/op/kernel.h"

namespace ipex_studio {

enum class IntegerActivation { kNone, kHardSwish, kSilu, kGeluErf, kGeluTanh };

// A folded chain: v = sum · scale + offset, plus factor · operand, then activation(v) · activated_scale +
// activated_offset if there is an activation, clamped, then the tail. With adds_last the operand is added to the
// activated value instead.
struct Requantization {
  std::vector<float> scale, offset;  // one per channel of the result
  int addend = -1;                   // post operand of the result's size; -1: none
  float factor = 0;
  bool adds_last = false;
  IntegerActivation activation = IntegerActivation::kNone;
  float activated_scale = 1, activated_offset = 0;
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
  std::vector<PostOp> tail;

  bool clamps() const {
    return low > -std::numeric_limits<float>::infinity() || high < std::numeric_limits<float>::infinity();
  }
};

// Folds the constant bias (source 2 of a product that has one), then post-operations. Post operand k is
// args.src[first_operand + k]; channels lie along `channel_axis` of the result. Except for the addend, operands that
// are not constant, or not one number per channel, stay in the tail. `takes_all`: silu may be the activation, too, and
// gelu where the steps of the result's bytes are larger than the error of its shorter form (geluNearV), and the addend
// may follow it; else they stay in the tail.
Requantization foldChain(const PrepareArgs& args, int first_operand, int channel_axis, bool takes_all = false);

// Drops clamps that the result's type makes unnecessary: u8 and s8 saturate.
void saturate(DType dtype, Requantization* chain);

// The largest |w| of constant s8 weights.
int largestWeight(const TensorDesc& desc, const void* data);

bool isByte(DType dtype);  // u8 or s8

}  // namespace ipex_studio
