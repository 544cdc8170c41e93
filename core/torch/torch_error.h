// Shortens libtorch's many-line messages to one sentence.
#pragma once

#include <string>

#include "core/base/error.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

// The error without the interpreter's and the compiler's traces: the message behind the last "RuntimeError: " if there
// is one, else the message that the model's code raised, else the first line. No trailing full stop.
std::string shortMessage(const std::exception& problem);

// Makes the Error(kBadModel) of a file that libtorch could not load; names an operator that this version lacks.
Error loadError(const std::string& path, const std::exception& problem);

// Makes the Error of a forward that failed: kUsage if the shapes or types of the inputs are at fault, else kFailure.
Error runError(const std::exception& problem);

}  // namespace ipex_studio
