// Names of steps and plans in tuning records. Pure functions.
#pragma once

#include <string>

#include "core/plan/plan.h"

namespace ipex_studio {

// Dtype, sizes and layout of an operand.
std::string operandText(const TensorDesc& desc);

bool isOfIntegers(const PrepareArgs& args);  // reads or writes u8 or s8

// The key of a step's measurement: everything but the values that a kernel's speed depends on.
std::string stepText(const PrepareArgs& args);

// The key of the choices for a whole plan: its operations, sizes and weights, and the available kernels.
std::string planText(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels, bool allow_winograd);

}  // namespace ipex_studio
