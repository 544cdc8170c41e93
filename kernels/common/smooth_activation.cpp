// The polynomials interpolate at Chebyshev's nodes of each piece, which is within a fraction of the best ones.
#include "kernels/common/smooth_activation.h"

#include <cmath>
#include <cstring>

namespace ipex_studio {
namespace {

constexpr int kPowers = 4;
constexpr double kPi = 3.14159265358979323846;

using Rest = double (*)(double distance);  // p of SmoothActivation

double restOfSilu(double a) { return -a / (1 + std::exp(a)); }
double restOfGeluErf(double a) { return -a * 0.5 * std::erfc(a / std::sqrt(2.0)); }
double restOfGeluTanh(double a) { return -a / (1 + std::exp(2 * std::sqrt(2 / kPi) * (a + 0.044715 * a * a * a))); }

std::uint32_t bitsOf(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float floatOf(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Newton's interpolation at `count` nodes, expanded to powers.
void interpolate(const double* at, const double* values, int count, double* powers) {
  double differences[kPowers];
  for (int i = 0; i < count; ++i) differences[i] = values[i];
  for (int order = 1; order < count; ++order) {
    for (int i = count - 1; i >= order; --i)
      differences[i] = (differences[i] - differences[i - 1]) / (at[i] - at[i - order]);
  }
  for (int i = 0; i < kPowers; ++i) powers[i] = 0;
  for (int i = count - 1; i >= 0; --i) {
    for (int power = kPowers - 1; power > 0; --power) powers[power] = powers[power - 1] - at[i] * powers[power];
    powers[0] = differences[i] - at[i] * powers[0];
  }
}

// Fits `count` powers from `lowest` on over [begin, end].
void fit(Rest rest, double begin, double end, int lowest, double* powers) {
  const int count = kPowers - lowest;
  double at[kPowers], values[kPowers], found[kPowers];
  for (int i = 0; i < count; ++i) {
    at[i] = (begin + end) / 2 + (end - begin) / 2 * std::cos((2 * i + 1) * kPi / (2 * count));
    values[i] = rest(at[i]) / (lowest == 0 ? 1 : at[i]);
  }
  interpolate(at, values, count, found);
  for (int power = 0; power < kPowers; ++power) powers[power] = power < lowest ? 0 : found[power - lowest];
}

SmoothActivation makeActivation(Rest rest) {
  SmoothActivation made;
  constexpr std::uint32_t kUnit = 1u << SmoothActivation::kShift;
  for (std::uint32_t bits = bitsOf(SmoothActivation::kNear); bits < bitsOf(SmoothActivation::kFar); bits += kUnit) {
    const bool first = bits == bitsOf(SmoothActivation::kNear);
    double powers[kPowers];
    fit(rest, first ? 0 : floatOf(bits), floatOf(bits + kUnit), first ? 1 : 0, powers);
    const std::uint32_t piece = bits / kUnit % SmoothActivation::kPieces;
    for (int power = 0; power < kPowers; ++power)
      made.coefficients[static_cast<std::size_t>(power)][piece] = static_cast<float>(powers[power]);
  }
  return made;
}

}  // namespace

const SmoothActivation* smoothActivationOf(PostOpKind kind) {
  static const SmoothActivation silu = makeActivation(restOfSilu), erf = makeActivation(restOfGeluErf),
                                tanh = makeActivation(restOfGeluTanh);
  switch (kind) {
    case PostOpKind::kSilu:
      return &silu;
    case PostOpKind::kGeluErf:
      return &erf;
    case PostOpKind::kGeluTanh:
      return &tanh;
    default:
      return nullptr;
  }
}

}  // namespace ipex_studio
