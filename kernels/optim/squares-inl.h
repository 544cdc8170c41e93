// Sums of squares, once per Highway target.
#if defined(IPEX_KERNELS_OPTIM_SQUARES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_OPTIM_SQUARES_INL_H
#undef IPEX_KERNELS_OPTIM_SQUARES_INL_H
#else
#define IPEX_KERNELS_OPTIM_SQUARES_INL_H
#endif

#include "kernels/common/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// The sum of the squares of values · scale, each product rounded as the rules round it. A square of a float fits a
// double, so that the sum is finite if all values are.
inline double squaresOf(const float* values, float scale, std::size_t count) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> floats;
  const std::size_t lanes = hn::Lanes(d);
  const auto factor = hn::Set(floats, scale);
  auto even = hn::Zero(d), odd = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto a = hn::PromoteTo(d, hn::Mul(hn::LoadU(floats, values + i), factor));
    const auto b = hn::PromoteTo(d, hn::Mul(hn::LoadU(floats, values + i + lanes), factor));
    even = hn::MulAdd(a, a, even);
    odd = hn::MulAdd(b, b, odd);
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
  for (; i < count; ++i) {
    const double value = double{values[i] * scale};
    sum += value * value;
  }
  return sum;
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
