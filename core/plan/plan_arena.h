// Lays out a compiled plan: one arena per device, and a table of pointers. Private to core/plan.
#pragma once

#include "core/plan/kept_constants.h"
#include "core/plan/plan_parts.h"
#include "core/plan/plan_steps.h"
#include "core/plan/plan_values.h"

namespace ipex_studio {

// Gives every buffer that steps touch its offset in the arena of its device, and every pointer of a step its slot.
// Moves the records out of `steps`.
void layOutPlan(const PlanValues& values, const KeptConstants& kept, PlanSteps& steps, PlanParts* parts);

}  // namespace ipex_studio
