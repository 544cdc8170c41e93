// One operation of a pointwise chain over runs of floats, once per Highway target.
#if defined(IPEX_KERNELS_POINTWISE_CHAIN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_POINTWISE_CHAIN_INL_H
#undef IPEX_KERNELS_POINTWISE_CHAIN_INL_H
#else
#define IPEX_KERNELS_POINTWISE_CHAIN_INL_H
#endif

#include <cmath>

#include "core/op/op_spec.h"
#include "kernels/common/partial_vector-inl.h"
#include "kernels/common/pointwise_ops.h"
#include "kernels/common/simd-inl.h"
#include "kernels/common/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

template <class F>
HWY_INLINE void map(const PointwiseRows& rows, const F& f) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  const float* in = rows.in;
  float* out = rows.out;
  for (std::size_t row = 0; row < rows.rows; ++row, in += rows.in_stride, out += rows.out_stride) {
    std::size_t i = 0;
    for (; i + lanes <= rows.count; i += lanes) hn::StoreU(f(hn::LoadU(d, in + i)), d, out + i);
    if (i == rows.count) continue;
    const auto rest = static_cast<std::int64_t>(rows.count - i);
    storeFirst(f(loadFirst(in + i, rest)), out + i, rest);
  }
}

// Functions of several vectors in place.
struct Sigmoids {
  template <int kCount>
  static HWY_INLINE void apply(VF (&values)[kCount]) {
    sigmoids<kCount>(F32(), values);
  }
};
struct Silus {
  template <int kCount>
  static HWY_INLINE void apply(VF (&values)[kCount]) {
    silus<kCount>(F32(), values);
  }
};

template <class Function, int kCount>
HWY_INLINE void applyTo(const float* in, float* out) {
  const F32 d;
  VF values[kCount];
#pragma GCC unroll 4
  for (int v = 0; v < kCount; ++v) values[v] = hn::LoadU(d, in + v * static_cast<int>(hn::MaxLanes(d)));
  Function::apply(values);
#pragma GCC unroll 4
  for (int v = 0; v < kCount; ++v) hn::StoreU(values[v], d, out + v * static_cast<int>(hn::MaxLanes(d)));
}

// Computes four vectors at once where a row has them, as several long chains of dependent operations must overlap.
template <class Function>
HWY_INLINE void mapFours(PointwiseRows rows) {
  constexpr std::size_t kLanes = hn::MaxLanes(F32());
  const auto width = static_cast<std::ptrdiff_t>(rows.count);
  if (rows.in_stride == width && rows.out_stride == width) {
    rows.count *= rows.rows;
    rows.rows = 1;
  }
  for (; rows.rows > 0; --rows.rows, rows.in += rows.in_stride, rows.out += rows.out_stride) {
    std::size_t i = 0;
    for (; i + 4 * kLanes <= rows.count; i += 4 * kLanes) applyTo<Function, 4>(rows.in + i, rows.out + i);
    const std::size_t left = (rows.count - i) / kLanes;
    if (left == 3) applyTo<Function, 3>(rows.in + i, rows.out + i);
    if (left == 2) applyTo<Function, 2>(rows.in + i, rows.out + i);
    if (left == 1) applyTo<Function, 1>(rows.in + i, rows.out + i);
    i += left * kLanes;
    if (i == rows.count) continue;
    const auto rest = static_cast<std::int64_t>(rows.count - i);
    VF values[1] = {loadFirst(rows.in + i, rest)};
    Function::apply(values);
    storeFirst(values[0], rows.out + i, rest);
  }
}

template <class F>
HWY_INLINE void map2(const PointwiseRows& rows, const F& f) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  const float *in = rows.in, *other = rows.other;
  float* out = rows.out;
  for (std::size_t row = 0; row < rows.rows;
       ++row, in += rows.in_stride, other += rows.other_stride, out += rows.out_stride) {
    std::size_t i = 0;
    for (; i + lanes <= rows.count; i += lanes)
      hn::StoreU(f(hn::LoadU(d, in + i), hn::LoadU(d, other + i)), d, out + i);
    if (i == rows.count) continue;
    const auto rest = static_cast<std::int64_t>(rows.count - i);
    storeFirst(f(loadFirst(in + i, rest), loadFirst(other + i, rest)), out + i, rest);
  }
}

// Computes one value at a time by libm.
template <class F>
HWY_INLINE void mapScalar(const PointwiseRows& rows, const F& f) {
  for (std::size_t row = 0; row < rows.rows; ++row) {
    const float* const in = rows.in + static_cast<std::ptrdiff_t>(row) * rows.in_stride;
    float* const out = rows.out + static_cast<std::ptrdiff_t>(row) * rows.out_stride;
    for (std::size_t i = 0; i < rows.count; ++i) out[i] = f(in[i]);
  }
}

// Highway's sine and cosine reduce their argument in single precision, which is exact enough up to 39000. Beyond, and
// for inf and NaN, libm's are used.
template <class Near, class Far>
HWY_INLINE VF periodicV(VF x, const Near& near, const Far& far) {
  const F32 d;
  if (HWY_LIKELY(hn::AllTrue(d, hn::Le(hn::Abs(x), hn::Set(d, 39000.0f))))) return near(x);
  HWY_ALIGN float lanes[hn::MaxLanes(d)];
  hn::Store(x, d, lanes);
  for (float& lane : lanes) lane = far(lane);
  return hn::Load(d, lanes);
}

inline void applyUnary(const PostOp& op, const PointwiseRows& rows) {
  const F32 d;
  const VF zero = hn::Zero(d), one = hn::Set(d, 1.0f);
  const VF a = hn::Set(d, static_cast<float>(op.alpha)), b = hn::Set(d, static_cast<float>(op.beta));
  const VF three = hn::Set(d, 3.0f), six = hn::Set(d, 6.0f), sixth = hn::Set(d, 1.0f / 6);
  const auto run = [&](const auto& f) HWY_ATTR { map(rows, f); };
  // Max and Min return their second argument when one is NaN: the value goes second, so NaN stays.
  switch (op.kind) {
    case PostOpKind::kRelu:
      return run([=](VF v) HWY_ATTR { return hn::Max(zero, v); });
    case PostOpKind::kClip:
      return run([=](VF v) HWY_ATTR { return hn::Min(b, hn::Max(a, v)); });
    case PostOpKind::kSigmoid:
      return mapFours<Sigmoids>(rows);
    case PostOpKind::kTanh:
      return run([=](VF v) HWY_ATTR { return tanhV(d, v); });
    case PostOpKind::kGeluErf:
      return run([=](VF v) HWY_ATTR { return geluErfV(d, v); });
    case PostOpKind::kGeluTanh:
      return run([=](VF v) HWY_ATTR { return geluTanhV(d, v); });
    case PostOpKind::kSilu:
      return mapFours<Silus>(rows);
    case PostOpKind::kHardSwish:
      return run([=](VF v)
                     HWY_ATTR { return hn::Mul(hn::Mul(v, hn::Min(six, hn::Max(zero, hn::Add(v, three)))), sixth); });
    case PostOpKind::kHardSigmoid:
      return run([=](VF v) HWY_ATTR { return hn::Mul(hn::Min(six, hn::Max(zero, hn::Add(v, three))), sixth); });
    case PostOpKind::kLeakyRelu:
      return run([=](VF v) HWY_ATTR { return hn::IfThenElse(hn::Gt(v, zero), v, hn::Mul(v, a)); });
    case PostOpKind::kElu:
      return run([=](VF v) HWY_ATTR {
        return hn::IfThenElse(hn::Gt(v, zero), v,
                              hn::Mul(a, hn::Expm1(d, hn::Max(hn::Set(d, -80.0f), hn::Min(zero, v)))));
      });
    case PostOpKind::kMish:
      return run([=](VF v) HWY_ATTR { return mishV(d, v); });
    case PostOpKind::kAbs:
      return run([=](VF v) HWY_ATTR { return hn::Abs(v); });
    case PostOpKind::kExp:
      return run([=](VF v) HWY_ATTR { return expV(d, v); });
    case PostOpKind::kLog:
      return run([=](VF v) HWY_ATTR { return logV(d, v); });
    case PostOpKind::kSqrt:
      return run([=](VF v) HWY_ATTR { return hn::Sqrt(v); });
    case PostOpKind::kRsqrt:
      return run([=](VF v) HWY_ATTR { return hn::Div(one, hn::Sqrt(v)); });
    case PostOpKind::kSquare:
      return run([=](VF v) HWY_ATTR { return hn::Mul(v, v); });
    case PostOpKind::kNeg:
      return run([=](VF v) HWY_ATTR { return hn::Neg(v); });
    case PostOpKind::kReciprocal:
      return run([=](VF v) HWY_ATTR { return hn::Div(one, v); });
    case PostOpKind::kErf:
      return run([=](VF v) HWY_ATTR { return erfV(d, v); });
    case PostOpKind::kSoftplus:
      return run([=](VF v)
                     HWY_ATTR { return softplusV(d, v, static_cast<float>(op.alpha), static_cast<float>(op.beta)); });
    case PostOpKind::kFloor:
      return run([=](VF v) HWY_ATTR { return hn::Floor(v); });
    case PostOpKind::kRound:
      return run([=](VF v) HWY_ATTR { return hn::Round(v); });
    case PostOpKind::kPow:
      if (op.alpha == 2) return run([=](VF v) HWY_ATTR { return hn::Mul(v, v); });
      if (op.alpha == 3) return run([=](VF v) HWY_ATTR { return hn::Mul(hn::Mul(v, v), v); });
      if (op.alpha == 0.5) return run([=](VF v) HWY_ATTR { return hn::Sqrt(v); });
      return mapScalar(rows, [&](float v) { return static_cast<float>(std::pow(static_cast<double>(v), op.alpha)); });
    case PostOpKind::kSin:
      return run([=](VF v) HWY_ATTR {
        return periodicV(
            v, [=](VF x) HWY_ATTR { return hn::Sin(d, x); }, [](float x) { return std::sin(x); });
      });
    case PostOpKind::kCos:
      return run([=](VF v) HWY_ATTR {
        return periodicV(
            v, [=](VF x) HWY_ATTR { return hn::Cos(d, x); }, [](float x) { return std::cos(x); });
      });
    default:
      return run([=](VF v) HWY_ATTR { return hn::MulAdd(v, a, b); });  // linear
  }
}

inline void applyBinary(const PostOp& op, const PointwiseRows& rows) {
  const F32 d;
  const VF a = hn::Set(d, static_cast<float>(op.alpha)), zero = hn::Zero(d), one = hn::Set(d, 1.0f);
  const bool plain = op.alpha == 1;
  const auto run = [&](const auto& f) HWY_ATTR { map2(rows, f); };
  switch (op.kind) {
    case PostOpKind::kAdd:
      if (plain) return run([](VF v, VF o) HWY_ATTR { return hn::Add(v, o); });
      return run([=](VF v, VF o) HWY_ATTR { return hn::MulAdd(a, o, v); });
    case PostOpKind::kSub:
      return run([=](VF v, VF o) HWY_ATTR { return hn::NegMulAdd(a, o, v); });
    case PostOpKind::kRsub:
      return run([=](VF v, VF o) HWY_ATTR { return hn::MulSub(a, o, v); });
    case PostOpKind::kMul:
      return run([](VF v, VF o) HWY_ATTR { return hn::Mul(v, o); });
    case PostOpKind::kDiv:
      return run([](VF v, VF o) HWY_ATTR { return hn::Div(v, o); });
    case PostOpKind::kRdiv:
      return run([](VF v, VF o) HWY_ATTR { return hn::Div(o, v); });
    case PostOpKind::kMax:
      return run([](VF v, VF o) HWY_ATTR { return hn::IfThenElse(hn::IsNaN(v), v, hn::Max(v, o)); });
    case PostOpKind::kMin:
      return run([](VF v, VF o) HWY_ATTR { return hn::IfThenElse(hn::IsNaN(v), v, hn::Min(v, o)); });
    case PostOpKind::kFill:
      return run([=](VF v, VF o) HWY_ATTR { return hn::IfThenElse(hn::Ne(o, zero), a, v); });
    case PostOpKind::kKeep:
      return run([=](VF v, VF o) HWY_ATTR { return hn::IfThenElse(hn::Ne(o, zero), v, a); });
    case PostOpKind::kEq:
      return run([=](VF v, VF o) HWY_ATTR { return hn::IfThenElseZero(hn::Eq(v, o), one); });
    case PostOpKind::kNe:
      return run([=](VF v, VF o) HWY_ATTR { return hn::IfThenZeroElse(hn::Eq(v, o), one); });
    case PostOpKind::kLt:
      return run([=](VF v, VF o) HWY_ATTR { return hn::IfThenElseZero(hn::Lt(v, o), one); });
    case PostOpKind::kLe:
      return run([=](VF v, VF o) HWY_ATTR { return hn::IfThenElseZero(hn::Le(v, o), one); });
    case PostOpKind::kGt:
      return run([=](VF v, VF o) HWY_ATTR { return hn::IfThenElseZero(hn::Gt(v, o), one); });
    default:  // ge
      return run([=](VF v, VF o) HWY_ATTR { return hn::IfThenElseZero(hn::Ge(v, o), one); });
  }
}

inline void applyPointwise(const PostOp& op, const PointwiseRows& rows) {
  if (isBinary(op.kind)) {
    applyBinary(op, rows);
  } else {
    applyUnary(op, rows);
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
