// SiLU for results that are rounded to bytes: piecewise parabolas in the place of exponentials.
#pragma once

#include <array>

#include "kernels/common/requantization.h"
#include "kernels/common/smooth_activation.h"

namespace ipex_studio {

// scale · silu(x) + offset = x · scale/2 + P(|x|), for silu(x) - x/2 is even. P is a parabola on each of 32 pieces from
// 0 to 12, and a line beyond. Off by at most 1.3e-4 · scale, and the rounding of FP32.
struct SiluPieces {
  static constexpr float kEnd = 12.0f;
  static constexpr int kPieces = SmoothActivation::kPieces;
  // The index is the power, then the piece; aligned for vectors.
  alignas(64) std::array<std::array<float, kPieces>, 3> coefficients{};
  float half = 0;  // scale / 2

  SiluPieces() = default;
  SiluPieces(double scale, double offset);
};

// The activation of a folded chain, its scale and its offset; zeros if that is another one.
SiluPieces siluPiecesOf(const Requantization& chain);

}  // namespace ipex_studio
