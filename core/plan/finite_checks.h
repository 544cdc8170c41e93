// FiniteChecks: the values of a plan that must be finite because a step behind them gives numbers for NaN
// (PreparedOp::needs_finite). Private to core/plan.
//
// Behind such a step NaN is not seen any more, so the plan looks where it may come from: at inputs, and at results of
// steps that can make NaN or infinities of numbers, or numbers of them; or at results on the way, where less is to be
// read. Sums and products are taken to stay finite. Constants are not looked at: what they do to results shows when an
// optimized model is verified.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/plan_parts.h"
#include "core/plan/plan_steps.h"

namespace ipex_studio {

// `inputs`: per value of the spec's inputs, absent for integers.
FiniteChecks findFiniteChecks(const std::vector<TensorDesc>& inputs, const PlanValues& values,
                              const std::vector<PlanSteps::Step>& steps);

// True if no element is NaN and, unless allowed, none is infinite. Floats of 32 or 16 bits on the host.
bool passes(const FiniteCheck& check, AnyAbove any_above, const void* data);

}  // namespace ipex_studio
