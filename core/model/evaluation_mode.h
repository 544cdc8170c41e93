// Operators that were recorded while a module trained, brought into evaluation mode.
#pragma once

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Changes the code of `module` in place: dropout hands its input on, norms with running statistics use these, recurrent
// layers and attention drop nothing, and nothing counts batches. Tracing writes the mode of its day into the code as a
// constant, which Module::eval() does not reach. Norms without running statistics stay as they are. Returns how many
// operators changed. Not thread-safe.
int bringIntoEvaluation(const torch::jit::Module& module);

}  // namespace ipex_studio
