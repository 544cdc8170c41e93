// Frees memory that modules leave behind. A clone – frozen and rewritten modules are clones – is part of the
// compilation unit of the module that it was made from, and its graphs with all their constants live as long as any
// module of that unit.
#pragma once

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Frees the graphs of a module. Neither it nor any copy that shares its type may be run, saved or read any more. For
// callers that make many modules of one model.
void releaseMethods(const torch::jit::Module& module);

}  // namespace ipex_studio
