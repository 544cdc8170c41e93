// Which oneDNN runs underneath.
#pragma once

#include <string>

namespace ipex_studio {

// "2.6.3", of the library that was loaded.
std::string onednnVersion();

}  // namespace ipex_studio
