// The rules of optimizers, one vector of elements at a time, once per Highway target.
//
// Each follows the for-loop of PyTorch operation by operation, with MulAdd where its kernels have FMA, so that results
// have the same bits: torch/optim/*.py (_single_tensor_*) says which operations, aten/src/ATen/native/cpu how they
// round.
// The compiler must not contract operations on its own here (kernels/CMakeLists.txt sees to that).
#if defined(IPEX_KERNELS_UPDATE_RULES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_UPDATE_RULES_INL_H
#undef IPEX_KERNELS_UPDATE_RULES_INL_H
#else
#define IPEX_KERNELS_UPDATE_RULES_INL_H
#endif

#include "kernels/common/simd-inl.h"
#include "kernels/optim/update_scalars.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

using hn::Add;
using hn::Div;
using hn::Mul;
using hn::MulAdd;
using hn::Sqrt;
using hn::Sub;

HWY_INLINE VF constant(float value) { return hn::Set(F32(), value); }

// a unless b is greater or NaN, as aten::maximum.
HWY_INLINE VF maximumOf(VF a, VF b) { return hn::IfThenElse(hn::IsNaN(a), a, hn::Max(a, b)); }

// mean · stays + rest · value, in one of two ways.
HWY_INLINE VF runningMean(const UpdateScalars& s, float stays, float rest, VF mean, VF value) {
  if (!s.lerp) return MulAdd(value, constant(rest), Mul(mean, constant(stays)));
  const VF difference = Sub(value, mean);
  if (rest < 0.5f) return MulAdd(difference, constant(rest), mean);
  return hn::NegMulAdd(difference, constant(1.0f - rest), value);
}

HWY_INLINE VF secondMoment(const UpdateScalars& s, VF mean, VF g) {
  return MulAdd(Mul(constant(s.rest2), g), g, Mul(mean, constant(s.beta2)));
}

HWY_INLINE VF scaledGradient(const UpdateScalars& s, VF g) {
  return s.scaled ? Mul(Mul(g, constant(s.scale)), constant(s.clip)) : g;
}

HWY_INLINE VF decayedGradient(const UpdateScalars& s, VF p, VF g) {
  return s.weight_decay != 0 ? MulAdd(p, constant(s.weight_decay), g) : g;
}

HWY_INLINE VF quotient(float factor, VF above, VF below) { return Div(Mul(constant(factor), above), below); }

// The parameter after decoupled decay and a step: two roundings as the for-loop has them, or one.
HWY_INLINE VF moved(const UpdateScalars& s, VF p, VF step) {
  const VF keep = constant(s.keep);
  return s.fast ? MulAdd(p, keep, step) : Add(Mul(p, keep), step);
}

// Each rule: kStates, and apply(), which changes the parameter p and the states; g is the gradient with its factors.
struct SgdRule {
  static constexpr int kStates = 0;
  static HWY_INLINE void apply(const UpdateScalars& s, VF& p, VF g, VF*) {
    p = MulAdd(decayedGradient(s, p, g), constant(s.step_size), p);
  }
};

struct MomentumRule {
  static constexpr int kStates = 1;
  static HWY_INLINE void apply(const UpdateScalars& s, VF& p, VF g, VF* state) {
    g = decayedGradient(s, p, g);
    state[0] = s.first ? g : MulAdd(g, constant(s.rest1), Mul(state[0], constant(s.beta1)));
    const VF step = s.nesterov ? MulAdd(state[0], constant(s.beta1), g) : state[0];
    p = MulAdd(step, constant(s.step_size), p);
  }
};

template <bool kAmsgrad>
struct AdamRule {
  static constexpr int kStates = kAmsgrad ? 3 : 2;
  static HWY_INLINE void apply(const UpdateScalars& s, VF& p, VF g, VF* state) {
    g = decayedGradient(s, p, g);
    state[0] = runningMean(s, s.beta1, s.rest1, state[0], g);
    state[1] = secondMoment(s, state[1], g);
    if (kAmsgrad) state[2] = maximumOf(state[2], state[1]);
    VF root = Sqrt(state[kAmsgrad ? 2 : 1]);
    if (!s.fast) root = Div(root, constant(s.bias2));
    p = moved(s, p, quotient(s.step_size, state[0], Add(root, constant(s.eps))));
  }
};

struct AdagradRule {
  static constexpr int kStates = 1;
  static HWY_INLINE void apply(const UpdateScalars& s, VF& p, VF g, VF* state) {
    g = decayedGradient(s, p, g);
    state[0] = MulAdd(g, g, state[0]);
    p = Add(p, quotient(s.step_size, g, Add(Sqrt(state[0]), constant(s.eps))));
  }
};

template <bool kCentered, bool kMomentum>
struct RmspropRule {
  static constexpr int kStates = 1 + kCentered + kMomentum;
  static HWY_INLINE void apply(const UpdateScalars& s, VF& p, VF g, VF* state) {
    g = decayedGradient(s, p, g);
    state[0] = secondMoment(s, state[0], g);
    VF variance = state[0];
    if (kCentered) {
      state[1] = runningMean(s, s.beta2, s.rest2, state[1], g);
      variance = hn::NegMulAdd(state[1], state[1], variance);
    }
    const VF below = Add(Sqrt(variance), constant(s.eps));
    if (kMomentum) {
      VF& buffer = state[kCentered ? 2 : 1];
      buffer = Add(Mul(buffer, constant(s.beta1)), Div(g, below));
      p = MulAdd(buffer, constant(s.step_size), p);
    } else {
      p = Add(p, quotient(s.step_size, g, below));
    }
  }
};

struct NadamRule {
  static constexpr int kStates = 2;
  static HWY_INLINE void apply(const UpdateScalars& s, VF& p, VF g, VF* state) {
    g = decayedGradient(s, p, g);
    state[0] = runningMean(s, s.beta1, s.rest1, state[0], g);
    state[1] = secondMoment(s, state[1], g);
    const VF below = Add(Sqrt(Div(state[1], constant(s.bias2))), constant(s.eps));
    if (s.fast) {
      const VF above = MulAdd(constant(s.step_size), g, Mul(constant(s.second_step_size), state[0]));
      p = moved(s, p, Div(above, below));
    } else {
      p = Add(moved(s, p, quotient(s.step_size, g, below)), quotient(s.second_step_size, state[0], below));
    }
  }
};

struct RadamRule {
  static constexpr int kStates = 2;
  static HWY_INLINE void apply(const UpdateScalars& s, VF& p, VF g, VF* state) {
    g = decayedGradient(s, p, g);
    state[0] = runningMean(s, s.beta1, s.rest1, state[0], g);
    state[1] = secondMoment(s, state[1], g);
    VF step = Mul(Div(state[0], constant(s.bias1)), constant(s.step_size));
    if (s.rectified) {
      const VF below = Add(Sqrt(state[1]), constant(s.eps));
      const VF rate = Mul(Div(constant(1.0f), below), constant(s.bias2));
      step = Mul(Mul(step, rate), constant(s.rectification));
    }
    p = moved(s, p, hn::Neg(step));
  }
};

struct AdamaxRule {
  static constexpr int kStates = 2;
  static HWY_INLINE void apply(const UpdateScalars& s, VF& p, VF g, VF* state) {
    g = decayedGradient(s, p, g);
    state[0] = runningMean(s, s.beta1, s.rest1, state[0], g);
    state[1] = maximumOf(Mul(state[1], constant(s.beta2)), Add(hn::Abs(g), constant(s.eps)));
    p = Add(p, quotient(s.step_size, state[0], state[1]));
  }
};

struct LionRule {
  static constexpr int kStates = 1;
  static HWY_INLINE void apply(const UpdateScalars& s, VF& p, VF g, VF* state) {
    const VF mean = MulAdd(g, constant(s.rest1), Mul(state[0], constant(s.beta1)));
    const VF one = hn::CopySign(constant(1.0f), mean), zero = constant(0.0f);
    const VF sign = hn::IfThenElse(hn::Eq(mean, zero), zero, hn::IfThenElse(hn::IsNaN(mean), mean, one));
    p = moved(s, p, Mul(sign, constant(s.step_size)));
    state[0] = MulAdd(g, constant(s.rest2), Mul(state[0], constant(s.beta2)));
  }
};

HWY_INLINE VF lambStep(const UpdateScalars& s, VF p, const VF* state) {
  const VF below = Add(Sqrt(Div(state[1], constant(s.bias2))), constant(s.eps));
  const VF step = Div(Div(state[0], constant(s.bias1)), below);
  return s.decay_of_step ? MulAdd(p, constant(s.weight_decay), step) : step;
}

// The states alone; gives the step instead of the parameter, so that the sum of its squares can be formed.
struct LambMomentsRule {
  static constexpr int kStates = 2;
  static HWY_INLINE void apply(const UpdateScalars& s, VF& p, VF g, VF* state) {
    if (!s.decay_of_step) g = decayedGradient(s, p, g);
    state[0] = MulAdd(g, constant(s.rest1), Mul(state[0], constant(s.beta1)));
    state[1] = secondMoment(s, state[1], g);
    p = lambStep(s, p, state);
  }
};

struct LambStepRule {
  static constexpr int kStates = 2;
  static HWY_INLINE void apply(const UpdateScalars& s, VF& p, VF, VF* state) {
    p = MulAdd(lambStep(s, p, state), constant(s.step_size), p);
  }
};

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
