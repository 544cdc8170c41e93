#include "kernels/int8/silu_pieces.h"

#include <cmath>

namespace ipex_studio {
namespace {

// silu(x) - x/2 for x ≥ 0.
double evenPart(double x) { return x / (1 + std::exp(-x)) - x / 2; }

// The parabola through the values at the Chebyshev nodes of [begin, end].
std::array<double, 3> parabolaOn(double begin, double end) {
  double x[3], divided[3];
  for (int i = 0; i < 3; ++i) {
    x[i] = (begin + end) / 2 + (end - begin) / 2 * std::cos((2 * i + 1) * std::acos(-1.0) / 6);
    divided[i] = evenPart(x[i]);
  }
  const double first = (divided[1] - divided[0]) / (x[1] - x[0]), second = (divided[2] - divided[1]) / (x[2] - x[1]);
  const double square = (second - first) / (x[2] - x[0]);
  return {divided[0] - first * x[0] + square * x[0] * x[1], first - square * (x[0] + x[1]), square};
}

}  // namespace

SiluPieces::SiluPieces(double scale, double offset) : half(static_cast<float>(scale / 2)) {
  for (int piece = 0; piece < kPieces; ++piece) {
    const double width = static_cast<double>(kEnd) / kPieces;
    const bool last = piece + 1 == kPieces;
    const std::array<double, 3> powers =
        last ? std::array<double, 3>{0, 0.5, 0} : parabolaOn(piece * width, (piece + 1) * width);
    for (std::size_t power = 0; power < 3; ++power) {
      coefficients[power][static_cast<std::size_t>(piece)] =
          static_cast<float>(scale * powers[power] + (power == 0 ? offset : 0));
    }
  }
}

SiluPieces siluPiecesOf(const Requantization& chain) {
  if (chain.activation != IntegerActivation::kSilu) return {};
  return {chain.activated_scale, chain.activated_offset};
}

}  // namespace ipex_studio
