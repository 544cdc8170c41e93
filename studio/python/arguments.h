// Values of Python as arguments of a module of TorchScript.
#pragma once

#include <pybind11/pybind11.h>

#include "core/model/model.h"

namespace ipex_studio {

// `given`: a tuple for forward; None: values are guessed from the graph. Defaults stand for what is not given. Throws
// Error(kUsage).
Inputs argumentsOf(const torch::jit::Module& module, const pybind11::object& given);

}  // namespace ipex_studio
