// libtorch's many-line messages as one sentence.
#pragma once

#include <string>

#include "core/base/error.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

// The error without the interpreter's and the compiler's traces: the message behind the last "RuntimeError: " if
// there is one, else what the model's code raised, else the first line. No trailing full stop.
std::string shortMessage(const std::exception& problem);

// Error(kBadModel) for a file that libtorch could not load: an operator this version lacks is named.
Error loadError(const std::string& path, const std::exception& problem);

// Error(kFailure, or kUsage when the shapes or types of the inputs are at fault) for a forward that failed.
Error runError(const std::exception& problem);

}  // namespace ipex_studio
