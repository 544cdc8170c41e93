// Vector versions of activation functions, once per Highway target. Errors against libm in double precision: exp, tanh,
// erf 2 ulp; sigmoid 4 ulp; log 1 ulp; gelu and mish as the formulas they are written with. tests/kernels/vector_math
// measures them.
#if defined(IPEX_KERNELS_VECTOR_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_VECTOR_MATH_INL_H
#undef IPEX_KERNELS_VECTOR_MATH_INL_H
#else
#define IPEX_KERNELS_VECTOR_MATH_INL_H
#endif

#include <hwy/contrib/math/math-inl.h>

#include <limits>

#include "kernels/common/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// e^x by 2^n · e^r, |r| ≤ ln2/2, with a polynomial of degree 7. Overflows to inf, underflows to 0, keeps NaN. What
// vanishes, as masked values do, is not multiplied down to 0: products that underflow are slow.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V expV(D d, V x) {
  const hn::RebindToSigned<D> di;
  const auto vanishes = hn::Lt(x, hn::Set(d, -104.0f));
  const V clamped = hn::Min(hn::Set(d, 89.0f), hn::IfThenZeroElse(vanishes, x));  // NaN stays: the second operand wins
  const V n = hn::Round(hn::Mul(clamped, hn::Set(d, 1.44269504088896341f)));
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693145751953125f), clamped);
  r = hn::NegMulAdd(n, hn::Set(d, 1.42860682030941723e-6f), r);
  V p = hn::Set(d, 1.9875691500e-4f);
  p = hn::MulAdd(p, r, hn::Set(d, 1.3981999507e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 8.3334519073e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.1665795894e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.6666665459e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.0000001201e-1f));
  p = hn::MulAdd(p, hn::Mul(r, r), r);
  p = hn::Add(p, hn::Set(d, 1.0f));
  // Two factors: 2^n alone does not fit the exponent at the ends of the range.
  const auto whole = hn::ConvertTo(di, n);
  const auto half = hn::ShiftRight<1>(whole);
  const auto bias = hn::Set(di, 127);
  const V scale1 = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const V scale2 = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::Sub(whole, half), bias)));
  const V result = hn::IfThenZeroElse(vanishes, hn::Mul(hn::Mul(p, scale1), scale2));
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

#if HWY_TARGET <= HWY_AVX3
// The bits of 2^(i/16) minus i · 2^19: adding n · 2^19 to those of i = n mod 16 gives the bits of 2^(n/16).
alignas(64) static constexpr std::uint32_t kRootsOfTwo[16] = {
    0x3F800000, 0x3F7DAAC3, 0x3F7B95C2, 0x3F79C3D3, 0x3F7837F0, 0x3F76F532, 0x3F75FED7, 0x3F75583F,
    0x3F7504F3, 0x3F7508A4, 0x3F75672A, 0x3F76248C, 0x3F7744FD, 0x3F78CCDF, 0x3F7AC0C7, 0x3F7D257D};

// e^x = 2^(n/16) · e^r, |r| ≤ ln2/32, by a table of roots and a polynomial of degree 3.
template <int kCount, class D, class V = hn::Vec<D>>
HWY_INLINE void expByRoots(D d, V (&x)[kCount]) {
  const hn::RebindToUnsigned<D> du;
  const V bias = hn::Set(d, 12582912.0f), one = hn::Set(d, 1.0f);  // 1.5 · 2^23: units stand in the lowest bit
  const auto roots = hn::Load(du, kRootsOfTwo);
  V shifted[kCount], n[kCount], p[kCount];
#pragma GCC unroll 4
  for (int i = 0; i < kCount; ++i) shifted[i] = hn::MulAdd(x[i], hn::Set(d, 16 * 1.44269504088896341f), bias);
#pragma GCC unroll 4
  for (int i = 0; i < kCount; ++i) n[i] = hn::Sub(shifted[i], bias);
#pragma GCC unroll 4
  for (int i = 0; i < kCount; ++i) x[i] = hn::NegMulAdd(n[i], hn::Set(d, 0.693145751953125f / 16), x[i]);
#pragma GCC unroll 4
  for (int i = 0; i < kCount; ++i) x[i] = hn::NegMulAdd(n[i], hn::Set(d, 1.42860682030941723e-6f / 16), x[i]);
#pragma GCC unroll 4
  for (int i = 0; i < kCount; ++i) p[i] = hn::MulAdd(x[i], hn::Set(d, 1.0f / 6), hn::Set(d, 0.5f));
#pragma GCC unroll 4
  for (int i = 0; i < kCount; ++i) p[i] = hn::MulAdd(p[i], x[i], one);
#pragma GCC unroll 4
  for (int i = 0; i < kCount; ++i) p[i] = hn::Mul(p[i], x[i]);
#pragma GCC unroll 4
  for (int i = 0; i < kCount; ++i) {
    const auto bits = hn::BitCast(du, shifted[i]);
    const auto root = hn::TableLookupLanes(roots, hn::IndicesFromVec(du, hn::And(bits, hn::Set(du, 15u))));
    const V power = hn::BitCast(d, hn::Add(root, hn::ShiftLeft<19>(bits)));
    x[i] = hn::MulAdd(power, p[i], power);
  }
}
#endif

// e^x for -87 ≤ x ≤ 88, two thirds of expV's work: the rounded exponent is read from the sum's own bits. Keeps NaN. Of
// several vectors, one operation after the other for all: one vector alone waits for each result.
template <int kCount, class D, class V = hn::Vec<D>>
HWY_INLINE void expInRange(D d, V (&x)[kCount]) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (hn::MaxLanes(d) == 16) return expByRoots<kCount>(d, x);
#endif
  const hn::RebindToUnsigned<D> du;
  const V bias = hn::Set(d, 12582912.0f + 127.0f);  // 1.5 · 2^23: units stand in the lowest bit
  for (V& value : x) {
    const V shifted = hn::MulAdd(value, hn::Set(d, 1.44269504088896341f), bias);
    const V n = hn::Sub(shifted, bias);
    V r = hn::NegMulAdd(n, hn::Set(d, 0.693145751953125f), value);
    r = hn::NegMulAdd(n, hn::Set(d, 1.42860682030941723e-6f), r);
    V p = hn::Set(d, 1.392618359e-03f);
    p = hn::MulAdd(p, r, hn::Set(d, 8.363179053e-03f));
    p = hn::MulAdd(p, r, hn::Set(d, 4.166655462e-02f));
    p = hn::MulAdd(p, r, hn::Set(d, 1.666657699e-01f));
    p = hn::MulAdd(p, r, hn::Set(d, 0.5f));
    p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
    p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
    value = hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(du, shifted))));
  }
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V expInRangeV(D d, V x) {
  V one[1] = {x};
  expInRange<1>(d, one);
  return one[0];
}

// 1 / x for 1 ≤ x < 2^127; a division takes as long as ten other operations.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V reciprocalV(D d, V x) {
#if HWY_TARGET <= HWY_AVX3
  const V guess = hn::ApproximateReciprocal(x);  // 14 bits
  return hn::Mul(guess, hn::NegMulAdd(x, guess, hn::Set(d, 2.0f)));
#else
  return hn::Div(hn::Set(d, 1.0f), x);
#endif
}

// 1 / (1 + e^-x) of several vectors; below -88 the value at -88 (6e-39).
template <int kCount, class D, class V = hn::Vec<D>>
HWY_INLINE void sigmoids(D d, V (&x)[kCount]) {
  const V one = hn::Set(d, 1.0f);
  // Max and Min return their second argument when one is NaN: the value goes second, so NaN stays.
#pragma GCC unroll 4
  for (int i = 0; i < kCount; ++i) x[i] = hn::Min(hn::Set(d, 88.0f), hn::Max(hn::Set(d, -87.0f), hn::Neg(x[i])));
  expInRange<kCount>(d, x);
#pragma GCC unroll 4
  for (int i = 0; i < kCount; ++i) x[i] = reciprocalV(d, hn::Add(one, x[i]));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V sigmoidV(D d, V x) {
  V one[1] = {x};
  sigmoids<1>(d, one);
  return one[0];
}

// silu: x / (1 + e^-x).
template <int kCount, class D, class V = hn::Vec<D>>
HWY_INLINE void silus(D d, V (&x)[kCount]) {
  V gate[kCount];
  for (int i = 0; i < kCount; ++i) gate[i] = x[i];
  sigmoids<kCount>(d, gate);
#pragma GCC unroll 4
  for (int i = 0; i < kCount; ++i) x[i] = hn::Mul(x[i], gate[i]);
}

// tanh: odd polynomial below 0.625, else 1 - 2 / (e^2|x| + 1).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V tanhV(D d, V x) {
  const V one = hn::Set(d, 1.0f), two = hn::Set(d, 2.0f);
  const V a = hn::Abs(x);
  const V e = expInRangeV(d, hn::Min(hn::Set(d, 40.0f), hn::Add(a, a)));  // 1 beyond 20
  const V large = hn::NegMulAdd(two, reciprocalV(d, hn::Add(e, one)), one);
  const V s = hn::Mul(x, x);
  V p = hn::Set(d, -5.70498872745e-3f);
  p = hn::MulAdd(p, s, hn::Set(d, 2.06390887954e-2f));
  p = hn::MulAdd(p, s, hn::Set(d, -5.37397155531e-2f));
  p = hn::MulAdd(p, s, hn::Set(d, 1.33314422036e-1f));
  p = hn::MulAdd(p, s, hn::Set(d, -3.33332819422e-1f));
  const V small = hn::MulAdd(hn::Mul(p, s), x, x);
  return hn::IfThenElse(hn::Lt(a, hn::Set(d, 0.625f)), small, hn::CopySign(large, x));
}

// erf: polynomial below 0.9277, else 1 - e^q(|x|); both fitted for under one ulp.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V erfV(D d, V x) {
  const V t = hn::Abs(x);
  const V s = hn::Mul(x, x);
  V r = hn::MulAdd(hn::Set(d, -1.72853470e-5f), t, hn::Set(d, 3.83197126e-4f));
  const V u = hn::MulAdd(hn::Set(d, -3.88396438e-3f), t, hn::Set(d, 2.42546219e-2f));
  r = hn::MulAdd(r, s, u);
  r = hn::MulAdd(r, t, hn::Set(d, -1.06777877e-1f));
  r = hn::MulAdd(r, t, hn::Set(d, -6.34846687e-1f));
  r = hn::MulAdd(r, t, hn::Set(d, -1.28717512e-1f));
  // Beyond 4 the result is ±1; the polynomial must not see larger arguments.
  r = hn::MulAdd(r, t, hn::Neg(t));
  r = hn::IfThenElse(hn::Gt(t, hn::Set(d, 4.0f)), hn::Set(d, -40.0f), r);
  const V large = hn::CopySign(hn::Sub(hn::Set(d, 1.0f), expInRangeV(d, r)), x);
  V p = hn::Set(d, -5.96761703e-4f);
  p = hn::MulAdd(p, s, hn::Set(d, 4.99119423e-3f));
  p = hn::MulAdd(p, s, hn::Set(d, -2.67681349e-2f));
  p = hn::MulAdd(p, s, hn::Set(d, 1.12819925e-1f));
  p = hn::MulAdd(p, s, hn::Set(d, -3.76125336e-1f));
  p = hn::MulAdd(p, s, hn::Set(d, 1.28379166e-1f));
  const V small = hn::MulAdd(p, x, x);
  const V result = hn::IfThenElse(hn::Gt(t, hn::Set(d, 0.927734375f)), large, small);
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

// log, also of the arguments that Highway's polynomial leaves undefined: 0, negative numbers, inf, NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V logV(D d, V x) {
  const V inf = hn::Set(d, std::numeric_limits<float>::infinity());
  const V nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
  V y = hn::Log(d, x);
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(inf), y);
  y = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), nan, y);
  return hn::IfThenElse(hn::Or(hn::Eq(x, inf), hn::IsNaN(x)), x, y);
}

// erf as t · P(t²) / Q(t²), half of erfV's work at up to 6 ulp (with fused multiply-add): enough where 1 is added.
// Fitted by least squares, reweighted until the relative error was level (Lawson 1961), over |t| ≤ 3.9; beyond, ±1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V erfNearV(D d, V x) {
  const V end = hn::Set(d, 3.9f), one = hn::Set(d, 1.0f);
  const V t = hn::Min(end, hn::Max(hn::Neg(end), x));  // NaN stays: the second operand wins
  const V s = hn::Mul(t, t);
  V p = hn::MulAdd(s, hn::Set(d, 2.06647246e-06f), hn::Set(d, 2.8506064e-04f));
  V q = hn::MulAdd(s, hn::Set(d, 3.82699327e-05f), hn::Set(d, 1.15736469e-03f));
  p = hn::MulAdd(p, s, hn::Set(d, 3.73830274e-03f));
  q = hn::MulAdd(q, s, hn::Set(d, 1.49141895e-02f));
  p = hn::MulAdd(p, s, hn::Set(d, 5.26679456e-02f));
  q = hn::MulAdd(q, s, hn::Set(d, 1.13818564e-01f));
  p = hn::MulAdd(p, s, hn::Set(d, 1.89665899e-01f));
  q = hn::MulAdd(q, s, hn::Set(d, 5.01419783e-01f));
  p = hn::MulAdd(p, s, hn::Set(d, 1.12837911f));
  q = hn::MulAdd(q, s, one);
  const V n = hn::Mul(t, p);
#if HWY_TARGET <= HWY_AVX3
  const V r = reciprocalV(d, q), first = hn::Mul(n, r);
  const V y = hn::MulAdd(r, hn::NegMulAdd(first, q, n), first);
#else
  const V y = hn::Div(n, q);
#endif
  return hn::IfThenElse(hn::Gt(hn::Abs(x), end), hn::CopySign(one, x), y);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V geluErfV(D d, V x) {
  const V half = hn::Mul(x, hn::Set(d, 0.5f));
  const V t = hn::Mul(x, hn::Set(d, 0.70710678118654752f));
#if HWY_TARGET <= HWY_AVX2
  return hn::MulAdd(half, erfNearV(d, t), half);
#else
  return hn::MulAdd(half, erfV(d, t), half);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V geluTanhV(D d, V x) {
  const V cube = hn::Mul(hn::Mul(x, x), x);
  const V inner = hn::Mul(hn::MulAdd(cube, hn::Set(d, 0.044715f), x), hn::Set(d, 0.79788456080286536f));
  const V half = hn::Mul(x, hn::Set(d, 0.5f));
  return hn::MulAdd(half, tanhV(d, inner), half);
}

// mish: x · tanh(log(1 + e^x)) = x · n / (n + 2), n = e^x (e^x + 2).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V mishV(D d, V x) {
  const V two = hn::Set(d, 2.0f);
  const V e = expV(d, hn::Min(hn::Set(d, 20.0f), x));
  const V n = hn::Mul(e, hn::Add(e, two));
  const V y = hn::Mul(x, hn::Div(n, hn::Add(n, two)));
  return hn::IfThenElse(hn::Gt(x, hn::Set(d, 20.0f)), x, y);
}

// softplus: log(1 + e^(beta·x)) / beta; x itself beyond the threshold.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V softplusV(D d, V x, float beta, float threshold) {
  const V z = hn::Mul(x, hn::Set(d, beta));
  const V y = hn::Mul(hn::Log1p(d, expV(d, hn::Min(hn::Set(d, threshold), z))), hn::Set(d, 1.0f / beta));
  return hn::IfThenElse(hn::Gt(z, hn::Set(d, threshold)), x, y);
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
