// Methods of a model besides forward, and optimizing one of them in the place of forward.
#pragma once

#include <string>
#include <vector>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Methods that users of the model call: all of the module itself but forward and those whose names begin with an
// underscore.
std::vector<std::string> exportedMethods(const torch::jit::Module& module);

// Gives forward and `method` each other's name; if there is only one of them, it gets the other name. Calls between
// methods of the module are inlined, so each does what it did. A second call undoes the first. Throws Error(kUsage) if
// the module has neither.
void exchangeForward(torch::jit::Module& module, const std::string& method);

}  // namespace ipex_studio
