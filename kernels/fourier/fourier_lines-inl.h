// Fourier transforms of a line of complex numbers for each lane of a vector, once per Highway target. Passes of
// Stockham's form (Cochran et al., What is the fast Fourier transform?, 1967), which leave the bins in order, over
// radices 4, 2, 3 and 5, and odd ones up to the largest that fourier_turns.h allows by their definition.
#if defined(IPEX_KERNELS_FOURIER_LINES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_FOURIER_LINES_INL_H
#undef IPEX_KERNELS_FOURIER_LINES_INL_H
#else
#define IPEX_KERNELS_FOURIER_LINES_INL_H
#endif

#include <utility>

#include "kernels/common/simd-inl.h"
#include "kernels/fourier/fourier_turns.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

struct Complex {
  VF real, imaginary;
};

HWY_INLINE Complex complexSum(Complex a, Complex b) {
  return {hn::Add(a.real, b.real), hn::Add(a.imaginary, b.imaginary)};
}
HWY_INLINE Complex complexDifference(Complex a, Complex b) {
  return {hn::Sub(a.real, b.real), hn::Sub(a.imaginary, b.imaginary)};
}
HWY_INLINE Complex complexScaled(Complex a, float factor) {
  const VF f = hn::Set(F32(), factor);
  return {hn::Mul(a.real, f), hn::Mul(a.imaginary, f)};
}
// a · -i
HWY_INLINE Complex turnedBack(Complex a) { return {a.imaginary, hn::Neg(a.real)}; }
HWY_INLINE Complex complexTimes(Complex a, const float* turn) {
  const VF cosine = hn::Set(F32(), turn[0]), sine = hn::Set(F32(), turn[1]);
  return {hn::NegMulAdd(a.imaginary, sine, hn::Mul(a.real, cosine)),
          hn::MulAdd(a.imaginary, cosine, hn::Mul(a.real, sine))};
}

// A line of complex numbers for each lane: number i at [2 · i · lanes], its real parts before its imaginary ones.
HWY_INLINE Complex loadNumber(const float* line, std::int64_t i) {
  const F32 d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  return {hn::Load(d, line + 2 * i * lanes), hn::Load(d, line + (2 * i + 1) * lanes)};
}
HWY_INLINE void storeNumber(Complex value, float* line, std::int64_t i) {
  const F32 d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Store(value.real, d, line + 2 * i * lanes);
  hn::Store(value.imaginary, d, line + (2 * i + 1) * lanes);
}

template <int kRadix>
HWY_INLINE void butterfly(Complex* a);

template <>
HWY_INLINE void butterfly<2>(Complex* a) {
  const Complex sum = complexSum(a[0], a[1]);
  a[1] = complexDifference(a[0], a[1]);
  a[0] = sum;
}

template <>
HWY_INLINE void butterfly<3>(Complex* a) {
  constexpr float kSine = 0.866025403784438647f;
  const Complex sum = complexSum(a[1], a[2]), turned = turnedBack(complexScaled(complexDifference(a[1], a[2]), kSine));
  const Complex middle = complexDifference(a[0], complexScaled(sum, 0.5f));
  a[0] = complexSum(a[0], sum);
  a[1] = complexSum(middle, turned);
  a[2] = complexDifference(middle, turned);
}

template <>
HWY_INLINE void butterfly<4>(Complex* a) {
  const Complex even = complexSum(a[0], a[2]), odd = complexDifference(a[0], a[2]), sum = complexSum(a[1], a[3]),
                turned = turnedBack(complexDifference(a[1], a[3]));
  a[0] = complexSum(even, sum);
  a[1] = complexSum(odd, turned);
  a[2] = complexDifference(even, sum);
  a[3] = complexDifference(odd, turned);
}

template <>
HWY_INLINE void butterfly<5>(Complex* a) {
  constexpr float kCos1 = 0.309016994374947424f, kCos2 = -0.809016994374947424f, kSin1 = 0.951056516295153572f,
                  kSin2 = 0.587785252292473129f;
  const Complex near = complexSum(a[1], a[4]), far = complexSum(a[2], a[3]), near_by = complexDifference(a[1], a[4]),
                far_by = complexDifference(a[2], a[3]);
  const Complex first = complexSum(a[0], complexSum(complexScaled(near, kCos1), complexScaled(far, kCos2)));
  const Complex second = complexSum(a[0], complexSum(complexScaled(near, kCos2), complexScaled(far, kCos1)));
  const Complex turn1 = turnedBack(complexSum(complexScaled(near_by, kSin1), complexScaled(far_by, kSin2)));
  const Complex turn2 = turnedBack(complexDifference(complexScaled(near_by, kSin2), complexScaled(far_by, kSin1)));
  a[0] = complexSum(a[0], complexSum(near, far));
  a[1] = complexSum(first, turn1);
  a[2] = complexSum(second, turn2);
  a[3] = complexDifference(second, turn2);
  a[4] = complexDifference(first, turn1);
}

template <int kRadix>
HWY_INLINE void runStage(const FourierStage& stage, const float* HWY_RESTRICT from, float* HWY_RESTRICT to) {
  for (std::int64_t p = 0; p < stage.parts; ++p) {
    const float* turns = stage.turns.data() + p * (kRadix - 1) * 2;
    for (std::int64_t q = 0; q < stage.stride; ++q) {
      Complex a[kRadix];
      for (int j = 0; j < kRadix; ++j) a[j] = loadNumber(from, q + stage.stride * (p + stage.parts * j));
      butterfly<kRadix>(a);
      storeNumber(a[0], to, q + stage.stride * kRadix * p);
      for (int k = 1; k < kRadix; ++k)
        storeNumber(complexTimes(a[k], turns + 2 * (k - 1)), to, q + stage.stride * (kRadix * p + k));
    }
  }
}

// Any radix, by the definition of the transform.
inline void runAnyStage(const FourierStage& stage, const float* HWY_RESTRICT from, float* HWY_RESTRICT to) {
  const F32 d;
  const std::int64_t radix = stage.radix;
  for (std::int64_t p = 0; p < stage.parts; ++p) {
    const float* turns = stage.turns.data() + p * (radix - 1) * 2;
    for (std::int64_t q = 0; q < stage.stride; ++q) {
      for (std::int64_t k = 0; k < radix; ++k) {
        Complex sum{hn::Zero(d), hn::Zero(d)};
        for (std::int64_t j = 0; j < radix; ++j) {
          const Complex value = loadNumber(from, q + stage.stride * (p + stage.parts * j));
          sum = complexSum(sum, complexTimes(value, stage.matrix.data() + (j * radix + k) * 2));
        }
        storeNumber(k == 0 ? sum : complexTimes(sum, turns + 2 * (k - 1)), to, q + stage.stride * (radix * p + k));
      }
    }
  }
}

// Transforms `line`; the result lies in it or in `other`.
HWY_INLINE const float* transformLines(const std::vector<FourierStage>& stages, float* line, float* other) {
  for (const FourierStage& stage : stages) {
    switch (stage.radix) {
      case 2:
        runStage<2>(stage, line, other);
        break;
      case 3:
        runStage<3>(stage, line, other);
        break;
      case 4:
        runStage<4>(stage, line, other);
        break;
      case 5:
        runStage<5>(stage, line, other);
        break;
      default:
        runAnyStage(stage, line, other);
    }
    std::swap(line, other);
  }
  return line;
}

// The bins of real frames from those of their numbers in pairs: with E and O the transforms of the even and odd
// numbers, z = E + iO, bin k is E[k] + exp(-2πik/size) · O[k].
HWY_INLINE Complex binOfPairs(const FourierTurns& turns, const float* line, std::int64_t k) {
  const Complex a = loadNumber(line, k == turns.points ? 0 : k),
                mirrored = loadNumber(line, k == 0 ? 0 : turns.points - k),
                b{mirrored.real, hn::Neg(mirrored.imaginary)};
  const Complex even = complexScaled(complexSum(a, b), 0.5f),
                odd = complexScaled(turnedBack(complexDifference(a, b)), 0.5f);
  return complexSum(even, complexTimes(odd, turns.half_turns.data() + 2 * k));
}

// Writes one number of each line: that of lane l to place[lanes.to[l]]. Lanes has `to`, `count` and `together`.
template <class Lanes>
HWY_INLINE void writeRealNumbers(const Lanes& lanes, VF value, float* place) {
  const F32 d;
  if (lanes.together) {
    hn::StoreU(value, d, place + lanes.to[0]);
    return;
  }
  HWY_ALIGN float some[hn::MaxLanes(d)];
  hn::Store(value, d, some);
  for (std::int64_t l = 0; l < lanes.count; ++l) place[lanes.to[l]] = some[l];
}

// Likewise pairs, that of lane l to place[2 · lanes.to[l]].
template <class Lanes>
HWY_INLINE void writePairs(const Lanes& lanes, Complex value, float* place) {
  const F32 d;
  if (lanes.together) {
    hn::StoreInterleaved2(value.real, value.imaginary, d, place + 2 * lanes.to[0]);
    return;
  }
  HWY_ALIGN float real[hn::MaxLanes(d)], imaginary[hn::MaxLanes(d)];
  hn::Store(value.real, d, real);
  hn::Store(value.imaginary, d, imaginary);
  for (std::int64_t l = 0; l < lanes.count; ++l) {
    place[2 * lanes.to[l]] = real[l];
    place[2 * lanes.to[l] + 1] = imaginary[l];
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
