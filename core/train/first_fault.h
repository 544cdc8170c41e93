// Finds where a loss that is not finite begins.
#pragma once

#include <string>

#include "core/model/model.h"

namespace ipex_studio {

// Runs forward node by node in FP32 and returns the first operation whose result holds NaN (or, without `nan`, an
// infinity) though its operands do not: "aten::log of head (net.py:31)". Empty if there is none. Writes to the buffers
// of the module as forward does. Not thread-safe on one module.
std::string firstFault(const torch::jit::Module& module, const Inputs& arguments, bool nan);

}  // namespace ipex_studio
