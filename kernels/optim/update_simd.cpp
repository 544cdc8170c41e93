// Optimizer rules over stretches of memory, by SIMD.
#define HWY_TARGET_INCLUDE "kernels/optim/update_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>
#include <cstring>

#include "kernels/optim/parameter_forms-inl.h"
#include "kernels/optim/squares-inl.h"
#include "kernels/optim/update_chunk.h"
#include "kernels/optim/update_rules-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// The rule on one vector of elements that lie at these addresses; `to` takes what it makes of the parameter.
template <class Rule>
HWY_INLINE void updateVector(const UpdateScalars& s, const float* parameter, const float* gradient,
                             float* const (&states)[kMaxStates], float* to) {
  const F32 d;
  VF p = hn::LoadU(d, parameter), state[kMaxStates];
  const VF g = scaledGradient(s, hn::LoadU(d, gradient));
  for (int j = 0; j < Rule::kStates; ++j) state[j] = hn::LoadU(d, states[j]);
  Rule::apply(s, p, g, state);
  for (int j = 0; j < Rule::kStates; ++j) hn::StoreU(state[j], d, states[j]);
  hn::StoreU(p, d, to);
}

// Less than a vector, by way of padded copies.
template <class Rule>
void updateRest(const UpdateScalars& s, const float* parameter, const float* gradient,
                float* const (&states)[kMaxStates], float* to, std::size_t count) {
  constexpr std::size_t kLanes = HWY_MAX_BYTES / sizeof(float);
  float p[kLanes] = {}, g[kLanes] = {}, copies[kMaxStates][kLanes] = {};
  std::memcpy(p, parameter, count * sizeof(float));
  std::memcpy(g, gradient, count * sizeof(float));
  for (int j = 0; j < Rule::kStates; ++j) std::memcpy(copies[j], states[j], count * sizeof(float));
  float* const places[kMaxStates] = {copies[0], copies[1], copies[2]};
  updateVector<Rule>(s, p, g, places, p);
  std::memcpy(to, p, count * sizeof(float));
  for (int j = 0; j < Rule::kStates; ++j) std::memcpy(states[j], copies[j], count * sizeof(float));
}

template <class Rule>
void updateElements(const UpdateScalars& scalars, const FloatChunk& chunk, float* to) {
  const UpdateScalars s = scalars;  // a copy that no store can reach: it stays in registers
  const std::size_t lanes = hn::Lanes(F32());
  const float *parameter = chunk.parameter, *gradient = chunk.gradient;
  float* states[kMaxStates] = {chunk.states[0], chunk.states[1], chunk.states[2]};
  std::size_t i = 0;
  for (; i + lanes <= chunk.count; i += lanes) {
    updateVector<Rule>(s, parameter, gradient, states, to);
    parameter += lanes;
    gradient += lanes;
    to += lanes;
    for (int j = 0; j < Rule::kStates; ++j) states[j] += lanes;
  }
  if (i < chunk.count) updateRest<Rule>(s, parameter, gradient, states, to, chunk.count - i);
}

void updateFloats(const UpdateScalars& scalars, const FloatChunk& chunk) {
  const auto by = [&](auto rule) { updateElements<decltype(rule)>(scalars, chunk, chunk.parameter); };
  switch (scalars.rule) {
    case UpdateRule::kSgd:
      return by(SgdRule());
    case UpdateRule::kMomentum:
      return by(MomentumRule());
    case UpdateRule::kAdam:
      return by(AdamRule<false>());
    case UpdateRule::kAmsgrad:
      return by(AdamRule<true>());
    case UpdateRule::kAdagrad:
      return by(AdagradRule());
    case UpdateRule::kRmsprop:
      return by(RmspropRule<false, false>());
    case UpdateRule::kRmspropMomentum:
      return by(RmspropRule<false, true>());
    case UpdateRule::kRmspropCentered:
      return by(RmspropRule<true, false>());
    case UpdateRule::kRmspropCenteredMomentum:
      return by(RmspropRule<true, true>());
    case UpdateRule::kNadam:
      return by(NadamRule());
    case UpdateRule::kRadam:
      return by(RadamRule());
    case UpdateRule::kAdamax:
      return by(AdamaxRule());
    case UpdateRule::kLion:
      return by(LionRule());
    case UpdateRule::kLambStep:
      return by(LambStepRule());
    case UpdateRule::kNone:
    case UpdateRule::kLambMoments:
    case UpdateRule::kLarsNorms:
      return;
  }
}

void updateByRule(const UpdateScalars& scalars, const UpdateChunk& chunk) {
  if (liesAsFloats(chunk)) return updateFloats(scalars, floatsOf(chunk));
  forEachBlock(chunk, /*writes=*/true, [&](const FloatChunk& block) { updateFloats(scalars, block); });
}

double gradientSquares(float scale, const UpdateChunk& chunk) {
  if (chunk.gradient_dtype == DType::kF32)
    return squaresOf(static_cast<const float*>(chunk.gradient), scale, chunk.count);
  double sum = 0;
  forEachBlock(chunk, false, [&](const FloatChunk& block) { sum += squaresOf(block.gradient, scale, block.count); });
  return sum;
}

void beforeByRule(const UpdateScalars& scalars, const UpdateChunk& chunk, double* squares) {
  forEachBlock(chunk, false, [&](const FloatChunk& block) {
    squares[0] += squaresOf(block.parameter, 1, block.count);
    if (scalars.before == UpdateRule::kLambMoments) {
      float steps[kFormBlock];
      updateElements<LambMomentsRule>(scalars, block, steps);
      squares[1] += squaresOf(steps, 1, block.count);
    } else {
      squares[1] += squaresOf(block.gradient, scalars.scale * scalars.clip, block.count);
    }
  });
}

UpdateFunctions functionsOfTarget() { return {updateByRule, beforeByRule, gradientSquares}; }

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ipex_studio {

HWY_EXPORT(functionsOfTarget);

UpdateFunctions updateFunctions(const std::string& isa) { return IPEX_SELECT_TARGET(functionsOfTarget, isa)(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
