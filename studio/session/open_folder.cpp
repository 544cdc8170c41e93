// See open_folder.h.
#include "studio/session/open_folder.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "core/base/error.h"

namespace ipex_studio {

void openFolderOf(const std::string& path) {
  const std::string folder = std::filesystem::absolute(path).parent_path().string();
  std::string program = "xdg-open", argument = folder;
  char* words[] = {program.data(), argument.data(), nullptr};
  pid_t child = -1;
  if (::posix_spawnp(&child, "xdg-open", nullptr, nullptr, words, environ) != 0)
    throw Error(ExitCode::kUnsupported,
                fmt::format("No file manager was found (xdg-open is not installed); the folder is {}.", folder));
  // Some file managers run until their window is closed.
  std::thread([child] { ::waitpid(child, nullptr, 0); }).detach();
}

}  // namespace ipex_studio
