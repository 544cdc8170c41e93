// The transforms of Winograd's filtering for tiles of 2 and of 4 results (winograd.h), along one axis.
#if defined(IPEX_KERNELS_GEMM_WINOGRAD_LINE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_GEMM_WINOGRAD_LINE_INL_H
#undef IPEX_KERNELS_GEMM_WINOGRAD_LINE_INL_H
#else
#define IPEX_KERNELS_GEMM_WINOGRAD_LINE_INL_H
#endif

#include "kernels/common/simd-inl.h"
#include "kernels/gemm/winograd.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Transforms one line of an image and one of products. A weight comes back from its values: the outer ones are
// themselves, the middle one is kMiddle times a difference.
template <int kTile>
struct WinogradLine;

template <>
struct WinogradLine<2> {
  static constexpr float kMiddle = 1;

  static HWY_INLINE void image(const VF* x, VF* to) {
    to[0] = hn::Sub(x[0], x[2]);
    to[1] = hn::Add(x[1], x[2]);
    to[2] = hn::Sub(x[2], x[1]);
    to[3] = hn::Sub(x[1], x[3]);
  }
  static HWY_INLINE void result(const VF* products, VF* to) {
    to[0] = hn::Add(hn::Add(products[0], products[1]), products[2]);
    to[1] = hn::Sub(hn::Sub(products[1], products[2]), products[3]);
  }
};

template <>
struct WinogradLine<4> {
  static constexpr double kA = kWinogradNear, kB = kWinogradFar, kA2 = kA * kA, kB2 = kB * kB;
  static constexpr float kMiddle = static_cast<float>(kA * (kA2 - kB2));

  static HWY_INLINE VF number(double value) { return hn::Set(F32(), static_cast<float>(value)); }

  // The product of both points is 1.
  static HWY_INLINE void image(const VF* x, VF* to) {
    const VF sum = number(kA2 + kB2), a = number(kA), b = number(kB), a2 = number(kA2), b2 = number(kB2);
    const VF near_even = hn::NegMulAdd(b2, x[2], x[4]), near_odd = hn::MulSub(a, x[3], hn::Mul(b, x[1]));
    const VF far_even = hn::NegMulAdd(a2, x[2], x[4]), far_odd = hn::MulSub(b, x[3], hn::Mul(a, x[1]));
    to[0] = hn::NegMulAdd(sum, x[2], hn::Add(x[0], x[4]));
    to[1] = hn::Add(near_even, near_odd);
    to[2] = hn::Sub(near_even, near_odd);
    to[3] = hn::Add(far_even, far_odd);
    to[4] = hn::Sub(far_even, far_odd);
    to[5] = hn::NegMulAdd(sum, x[3], hn::Add(x[1], x[5]));
  }
  static HWY_INLINE void result(const VF* products, VF* to) {
    const VF near_sum = hn::Add(products[1], products[2]), near_odd = hn::Sub(products[1], products[2]);
    const VF far_sum = hn::Add(products[3], products[4]), far_odd = hn::Sub(products[3], products[4]);
    to[0] = hn::Add(hn::Add(products[0], near_sum), far_sum);
    to[1] = hn::MulAdd(number(kA), near_odd, hn::Mul(number(kB), far_odd));
    to[2] = hn::MulAdd(number(kA2), near_sum, hn::Mul(number(kB2), far_sum));
    to[3] = hn::Add(hn::MulAdd(number(kA2 * kA), near_odd, hn::Mul(number(kB2 * kB), far_odd)), products[5]);
  }
};

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
