// How steps are named in tuning records. Pure functions.
#pragma once

#include <string>

#include "core/plan/plan.h"

namespace ipex_studio {

// Dtype, sizes and layout of an operand.
std::string operandText(const TensorDesc& desc);

bool isOfIntegers(const PrepareArgs& args);  // reads or writes u8 or s8

// What a measurement is filed under: all that a kernel's speed depends on but the values.
std::string stepText(const PrepareArgs& args);

// What the choices for a whole plan are filed under: its operations, sizes and weights, and the kernels there are.
std::string planText(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels, bool allow_winograd);

}  // namespace ipex_studio
