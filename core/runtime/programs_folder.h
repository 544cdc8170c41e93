// The folder that keeps programs which were compiled for devices.
#pragma once

#include <string>

namespace ipex_studio {

// $XDG_CACHE_HOME/ipex-studio/programs, or in ~/.cache.
std::string deviceProgramsFolder();

}  // namespace ipex_studio
