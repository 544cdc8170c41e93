// Gated units of one row.
#define HWY_TARGET_INCLUDE "kernels/pointwise/gated_simd.cpp"
#include "kernels/common/simd-inl.h"

#include "kernels/common/partial_vector-inl.h"
#include "kernels/common/vector_math-inl.h"
#include "kernels/pointwise/gated.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Each unit: its value, and its value with its slope.
struct SiluGate {
  static HWY_INLINE VF value(VF x) { return hn::Mul(x, sigmoidV(F32(), x)); }
  static HWY_INLINE VF value(VF x, VF* slope) {
    const F32 d;
    const VF one = hn::Set(d, 1.0f), sigmoid = sigmoidV(d, x);
    *slope = hn::Mul(sigmoid, hn::MulAdd(x, hn::Sub(one, sigmoid), one));
    return hn::Mul(x, sigmoid);
  }
};

struct GeluGate {
  static HWY_INLINE VF value(VF x) { return geluErfV(F32(), x); }
  static HWY_INLINE VF value(VF x, VF* slope) {
    const F32 d;
    const VF half = hn::Set(d, 0.5f);
    const VF below = hn::MulAdd(half, erfV(d, hn::Mul(x, hn::Set(d, 0.70710678118654752f))), half);
    const VF density = hn::Mul(expV(d, hn::Mul(hn::Mul(x, x), hn::Set(d, -0.5f))), hn::Set(d, 0.39894228040143268f));
    *slope = hn::MulAdd(x, density, below);
    return hn::Mul(x, below);
  }
};

struct GeluTanhGate {
  static HWY_INLINE VF value(VF x) { return geluTanhV(F32(), x); }
  static HWY_INLINE VF value(VF x, VF* slope) {
    const F32 d;
    const VF one = hn::Set(d, 1.0f), half = hn::Set(d, 0.5f), factor = hn::Set(d, 0.79788456080286536f);
    const VF square = hn::Mul(x, x);
    const VF t = tanhV(d, hn::Mul(factor, hn::Mul(x, hn::MulAdd(square, hn::Set(d, 0.044715f), one))));
    const VF below = hn::MulAdd(half, t, half);
    const VF inner = hn::Mul(factor, hn::MulAdd(square, hn::Set(d, 3 * 0.044715f), one));
    *slope = hn::MulAdd(hn::Mul(hn::Mul(half, x), hn::NegMulAdd(t, t, one)), inner, below);
    return hn::Mul(x, below);
  }
};

struct ReluGate {
  static HWY_INLINE VF value(VF x) { return hn::Max(hn::Zero(F32()), x); }  // NaN: the second wins
  static HWY_INLINE VF value(VF x, VF* slope) {
    const F32 d;
    *slope = hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), hn::Set(d, 1.0f));
    return value(x);
  }
};

template <class Unit>
void gatedRow(const float* x, const float* up, float* y, std::int64_t count) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::Mul(Unit::value(hn::LoadU(d, x + i)), hn::LoadU(d, up + i)), d, y + i);
  if (i == count) return;
  const std::int64_t left = count - i;
  storeFirst(hn::Mul(Unit::value(loadFirst(x + i, left)), loadFirst(up + i, left)), y + i, left);
}

template <class Unit>
void gatedRowGradient(const float* x, const float* up, const float* of_y, float* of_x, float* of_up,
                      std::int64_t count) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    VF slope;
    const VF g = hn::LoadU(d, of_y + i), value = Unit::value(hn::LoadU(d, x + i), &slope);
    hn::StoreU(hn::Mul(hn::Mul(g, hn::LoadU(d, up + i)), slope), d, of_x + i);
    hn::StoreU(hn::Mul(g, value), d, of_up + i);
  }
  if (i == count) return;
  const std::int64_t left = count - i;
  VF slope;
  const VF g = loadFirst(of_y + i, left), value = Unit::value(loadFirst(x + i, left), &slope);
  storeFirst(hn::Mul(hn::Mul(g, loadFirst(up + i, left)), slope), of_x + i, left);
  storeFirst(hn::Mul(g, value), of_up + i, left);
}

void runGated(Gate gate, const float* x, const float* up, float* y, std::int64_t count) {
  switch (gate) {
    case Gate::kSilu:
      return gatedRow<SiluGate>(x, up, y, count);
    case Gate::kGelu:
      return gatedRow<GeluGate>(x, up, y, count);
    case Gate::kGeluTanh:
      return gatedRow<GeluTanhGate>(x, up, y, count);
    case Gate::kRelu:
      return gatedRow<ReluGate>(x, up, y, count);
  }
}

void runGatedGradient(Gate gate, const float* x, const float* up, const float* of_y, float* of_x, float* of_up,
                      std::int64_t count) {
  switch (gate) {
    case Gate::kSilu:
      return gatedRowGradient<SiluGate>(x, up, of_y, of_x, of_up, count);
    case Gate::kGelu:
      return gatedRowGradient<GeluGate>(x, up, of_y, of_x, of_up, count);
    case Gate::kGeluTanh:
      return gatedRowGradient<GeluTanhGate>(x, up, of_y, of_x, of_up, count);
    case Gate::kRelu:
      return gatedRowGradient<ReluGate>(x, up, of_y, of_x, of_up, count);
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ipex_studio {

HWY_EXPORT(runGated);
HWY_EXPORT(runGatedGradient);

GatedMath<float> gatedMathSimd(const std::string& isa) {
  return {IPEX_SELECT_TARGET(runGated, isa), IPEX_SELECT_TARGET(runGatedGradient, isa)};
}

}  // namespace ipex_studio

#endif  // HWY_ONCE
