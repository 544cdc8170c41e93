// Finds where a loss or a gradient that is not finite begins.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/model/model.h"

namespace ipex_studio {

// Runs forward node by node in FP32 and returns the first operation whose result holds NaN (or, without `nan`, an
// infinity) though its operands do not: "aten::log of head (net.py:31)". Empty if there is none. Writes to the buffers
// of the module as forward does. Not thread-safe on one module.
std::string firstFault(const torch::jit::Module& module, const Inputs& arguments, bool nan);

// Runs the backward of `loss` and returns the first gradient function that gives NaN or an infinity though it takes
// none: "SqrtBackward0, the gradient of norm". `layer_of`: the layer that made the gradient function of a number,
// or "". Empty if there is none.
std::string firstGradientFault(const at::Tensor& loss, const std::function<std::string(std::int64_t)>& layer_of);

}  // namespace ipex_studio
