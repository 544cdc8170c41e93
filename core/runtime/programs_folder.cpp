#include "core/runtime/programs_folder.h"

#include <fmt/format.h>

#include <cstdlib>

namespace ipex_studio {

std::string deviceProgramsFolder() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  const std::string base =
      cache != nullptr && *cache != '\0' ? cache : fmt::format("{}/.cache", home == nullptr ? "" : home);
  return base + "/ipex-studio/programs";
}

}  // namespace ipex_studio
