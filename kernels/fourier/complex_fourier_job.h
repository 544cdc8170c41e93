// Fourier transforms along any axis: what complex_fourier_simd.cpp hands to the code of one instruction set.
#pragma once

#include <cstdint>

#include "core/op/op_spec.h"
#include "kernels/fourier/fourier_turns.h"

namespace ipex_studio {

// The form of a line that a transform reads or writes along its axis: complex numbers as pairs, the half of such a line
// that determines the other half, or real numbers.
enum class FourierForm : std::uint8_t { kPairs, kHalf, kReal };

// Lines l = row · inner + i: x[row][0 … length)[i] to y[row][0 … results)[i].
struct ComplexFourierJob {
  std::int64_t rows = 0, inner = 0;
  std::int64_t length = 0, size = 0, results = 0;  // numbers read, transformed and written; further ones count as zero
  FourierForm from = FourierForm::kPairs, to = FourierForm::kPairs;
  bool inverse = false;
  bool paired = false;  // real numbers are transformed as half as many complex ones
  float scale = 1;
  FourierTurns turns;
};

// The forms that a specification names: source=real, result=half|real.
FourierForm fourierSource(const OpSpec& spec);
FourierForm fourierResult(const OpSpec& spec);
// The count of numbers that a specification transforms, of a source with `length` along the axis.
std::int64_t fourierSize(const OpSpec& spec, std::int64_t length);

}  // namespace ipex_studio
