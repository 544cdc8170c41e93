#include "studio/job/own_program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "core/base/error.h"

namespace ipex_studio {

std::string ownProgram(const std::string& name) {
  std::error_code code;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", code);
  const auto folder = self.parent_path();
  for (const auto& candidate : {folder / name, folder.parent_path() / "libexec" / "ipex-studio" / name}) {
    if (::access(candidate.c_str(), X_OK) == 0) return candidate.string();
  }
  throw Error(ExitCode::kFailure,
              fmt::format("The program {} is missing beside {}; build or install it.", name, self.string()));
}

}  // namespace ipex_studio
