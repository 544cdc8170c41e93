// Finds the other programs of this project.
#pragma once

#include <string>

namespace ipex_studio {

// Path of the program of this name beside this one or in ../libexec/ipex-studio. Throws Error(kFailure) if it is
// missing.
std::string ownProgram(const std::string& name);

}  // namespace ipex_studio
