// Names of operands, steps and plans in tuning records. Pure functions.
#pragma once

#include <string>

#include "core/base/sha256.h"
#include "core/plan/plan.h"

namespace ipex_studio {

// Dtype, sizes and layout of an operand.
std::string operandText(const TensorDesc& desc);

// True if the step reads or writes u8 or s8.
bool isOfIntegers(const PrepareArgs& args);

// The key of a step's measurement: everything that a kernel's speed depends on, so scales and zero points of integers
// are left out.
std::string stepText(const PrepareArgs& args);

// The key of the choices for a whole plan: its operations and sizes, a sample of its weights, and the available
// kernels. `begun`: specDigest() of the spec, which takes most of the time; null: it is computed.
std::string planText(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels, bool allow_winograd,
                     const Sha256* begun = nullptr);
Sha256 specDigest(const PlanSpec& spec);

}  // namespace ipex_studio
