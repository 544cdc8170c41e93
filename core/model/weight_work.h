// Work on weights alone that a module does anew in each run, until it is frozen.
#pragma once

#include <string>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// A sentence on the operations of forward that read nothing but weights and constants, views not counted: "4 operations
// on weights alone (norm, mul) are done anew in each run of the file; …"; empty: there are none.
std::string weightWorkSentence(const torch::jit::Module& module);

}  // namespace ipex_studio
