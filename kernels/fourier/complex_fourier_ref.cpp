// Fourier transforms along any axis, by their definition.
#include <cmath>
#include <vector>

#include "kernels/common/reference.h"
#include "kernels/fourier/complex_fourier_job.h"
#include "kernels/fourier/fourier_scale.h"

namespace ipex_studio {

FourierForm fourierSource(const OpSpec& spec) {
  if (spec.stringOr("source", "pairs") == "real") return FourierForm::kReal;
  return fourierResult(spec) == FourierForm::kReal ? FourierForm::kHalf : FourierForm::kPairs;
}

FourierForm fourierResult(const OpSpec& spec) {
  const std::string result = spec.stringOr("result", "pairs");
  return result == "half" ? FourierForm::kHalf : result == "real" ? FourierForm::kReal : FourierForm::kPairs;
}

std::int64_t fourierSize(const OpSpec& spec, std::int64_t length) {
  if (spec.has("size")) return spec.intOr("size", 0);
  return fourierSource(spec) == FourierForm::kHalf ? 2 * (length - 1) : length;
}

void refComplexFourier(const RefCall& call) {
  const RefTensor &x = call.src[0], &y = call.dst[0];
  const FourierForm from = fourierSource(call.spec), to = fourierResult(call.spec);
  const int rank = x.dims.rank - (from == FourierForm::kReal ? 0 : 1);
  const int axis = wrappedAxis(call.spec.intOr("axis", 0), rank);
  const bool inverse = call.spec.intOr("inverse", 0) != 0;
  const std::int64_t length = x.dims[axis], size = fourierSize(call.spec, length);
  const double scale = inverseScale(call.spec, size, inverse);
  const double turn = (inverse ? 2 : -2) * std::acos(-1.0) / static_cast<double>(size);
  const auto part = [&](Dims at, std::int64_t i, bool imaginary) {
    at[axis] = i;
    if (i >= length) return 0.0;
    if (from == FourierForm::kReal) return imaginary ? 0.0 : x(at);
    at[rank] = imaginary ? 1 : 0;
    return x(at);
  };
  forEachIndex(y.dims, [&](const Dims& at) {
    Dims line = at;
    line.rank = x.dims.rank;
    const bool wants_imaginary = to != FourierForm::kReal && at[rank] == 1;
    double sum = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      // The second half of a line of real numbers mirrors the first one, and bins that mirror themselves are real.
      const bool mirrored = from == FourierForm::kHalf && i > size / 2;
      const std::int64_t place = mirrored ? size - i : i;
      const bool is_real = from == FourierForm::kHalf && 2 * place % size == 0;
      const double real = part(line, place, false),
                   imaginary = is_real ? 0 : (mirrored ? -1 : 1) * part(line, place, true);
      const double angle = turn * static_cast<double>(at[axis] * i % size);
      sum += wants_imaginary ? real * std::sin(angle) + imaginary * std::cos(angle)
                             : real * std::cos(angle) - imaginary * std::sin(angle);
    }
    y(at) = sum * scale;
  });
}

}  // namespace ipex_studio
