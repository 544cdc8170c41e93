// The logits of one node of a transducer's lattice, in vectors.
#define HWY_TARGET_INCLUDE "kernels/training/rnnt_rows_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/common/bf16-inl.h"
#include "kernels/common/vector_math-inl.h"
#include "kernels/training/rnnt_rows.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// T: float, or std::uint16_t for bf16.
template <typename T>
float rnntNormalizerOf(const T* logits, std::int64_t classes) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t whole = classes / lanes * lanes;
  VF most = hn::Set(d, -std::numeric_limits<float>::infinity());
  for (std::int64_t v = 0; v < whole; v += lanes) most = hn::Max(most, loadFloats(d, logits + v));
  float peak = hn::GetLane(hn::MaxOfLanes(d, most));
  for (std::int64_t v = whole; v < classes; ++v) peak = std::max(peak, loadFloat(logits + v));
  const VF peaks = hn::Set(d, peak);
  VF sums = hn::Zero(d);
  for (std::int64_t v = 0; v < whole; v += lanes)
    sums = hn::Add(sums, expV(d, hn::Sub(loadFloats(d, logits + v), peaks)));
  if (whole < classes) {
    const VF rest = expV(d, hn::Sub(loadFirstFloats(logits + whole, classes - whole), peaks));
    sums = hn::Add(sums, hn::IfThenElseZero(hn::FirstN(d, static_cast<std::size_t>(classes - whole)), rest));
  }
  return static_cast<float>(peak + std::log(static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sums)))));
}

template <typename T>
void rnntGradientOf(const T* logits, std::int64_t classes, const RnntRowGradient<float>& terms, T* out) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const VF normalizer = hn::Set(d, terms.normalizer), occupancy = hn::Set(d, terms.occupancy);
  const VF most = hn::Set(d, terms.clamp), least = hn::Set(d, -terms.clamp), factor = hn::Set(d, terms.factor);
  const auto gradientOf = [&](VF logit) {
    const VF product = hn::Mul(expV(d, hn::Sub(logit, normalizer)), occupancy);
    // NaN stays: the second operand wins.
    return hn::Mul(hn::Max(least, hn::Min(most, product)), factor);
  };
  std::int64_t v = 0;
  for (; v + lanes <= classes; v += lanes) storeFloats(d, gradientOf(loadFloats(d, logits + v)), out + v);
  if (v == classes) return;
  float rest[hn::MaxLanes(d)];
  hn::StoreU(gradientOf(loadFirstFloats(logits + v, classes - v)), d, rest);
  for (std::int64_t i = 0; v < classes; ++i, ++v) storeFloat(rest[i], out + v);
}

float rnntNormalizerF32(const float* logits, std::int64_t classes) { return rnntNormalizerOf(logits, classes); }
float rnntNormalizerBf16(const Bf16* logits, std::int64_t classes) {
  return rnntNormalizerOf(reinterpret_cast<const std::uint16_t*>(logits), classes);
}
void rnntGradientF32(const float* logits, std::int64_t classes, const RnntRowGradient<float>& terms, float* out) {
  rnntGradientOf(logits, classes, terms, out);
}
void rnntGradientBf16(const Bf16* logits, std::int64_t classes, const RnntRowGradient<float>& terms, Bf16* out) {
  rnntGradientOf(reinterpret_cast<const std::uint16_t*>(logits), classes, terms, reinterpret_cast<std::uint16_t*>(out));
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ipex_studio {
namespace {

HWY_EXPORT(rnntNormalizerF32);
HWY_EXPORT(rnntNormalizerBf16);
HWY_EXPORT(rnntGradientF32);
HWY_EXPORT(rnntGradientBf16);

double plainNormalizer(const double* logits, std::int64_t classes) {
  const double peak = *std::max_element(logits, logits + classes);
  double sum = 0;
  for (std::int64_t v = 0; v < classes; ++v) sum += std::exp(logits[v] - peak);
  return peak + std::log(sum);
}

void plainGradient(const double* logits, std::int64_t classes, const RnntRowGradient<double>& terms, double* out) {
  for (std::int64_t v = 0; v < classes; ++v) {
    const double product = std::exp(logits[v] - terms.normalizer) * terms.occupancy;
    out[v] = std::clamp(product, -terms.clamp, terms.clamp) * terms.factor;
  }
}

}  // namespace

template <>
RnntRowKernels<float> rnntRowKernels<float>(const std::string& isa) {
  return {IPEX_SELECT_TARGET(rnntNormalizerF32, isa), IPEX_SELECT_TARGET(rnntGradientF32, isa)};
}

template <>
RnntRowKernels<Bf16> rnntRowKernels<Bf16>(const std::string& isa) {
  return {IPEX_SELECT_TARGET(rnntNormalizerBf16, isa), IPEX_SELECT_TARGET(rnntGradientBf16, isa)};
}

template <>
RnntRowKernels<double> rnntRowKernels<double>(const std::string&) {
  return {plainNormalizer, plainGradient};
}

}  // namespace ipex_studio

#endif  // HWY_ONCE
