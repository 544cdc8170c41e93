// SiLU and GELU for results that are rounded to bfloat16: piecewise polynomials in the place of exponentials.
#pragma once

#include <array>
#include <cstdint>

#include "core/op/op_spec.h"

namespace ipex_studio {

// x ↦ max(x, 0) + p(|x|): for both activations the rest is an even function that vanishes at 0 and far from it. p is a
// cubic polynomial on each quarter of an octave from 1/8 to 16; on the first piece it begins at 0, from 16 on it is 0.
// |p - exact| ≤ 2e-5, and near 0 at most 2e-4 of the result: a tenth of what rounding to bfloat16 costs.
// -inf gives 0, NaN stays.
struct SmoothActivation {
  static constexpr float kNear = 0.125f, kFar = 16.0f;
  // A piece is named by the exponent and two bits of the mantissa of a float: their lowest five bits are its index.
  static constexpr int kShift = 21, kPieces = 32;
  // Coefficients by power, then by piece; aligned for vectors.
  alignas(64) std::array<std::array<float, kPieces>, 4> coefficients{};
};

// The activation of this kind: kSilu, kGeluErf or kGeluTanh; null for others. Thread-safe.
const SmoothActivation* smoothActivationOf(PostOpKind kind);

}  // namespace ipex_studio
