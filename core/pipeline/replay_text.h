// A graph as text that can be read back and run without the model it came from.
#pragma once

#include <string>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Writes one case in the format of tests/passes/*.ir, named `title` (one line), that expects the same numbers after its
// passes. Small tensor constants stand in it exactly, larger ones as seeded random numbers of the same type, sizes and
// range, so that the text of a network of any size stays a few hundred kB at most. Arguments of class type that nothing
// uses are left out. Graphs that use a module's state, or quantized or complex constants, print but do not read back.
std::string replayText(torch::jit::Graph& graph, const std::string& title);

}  // namespace ipex_studio
