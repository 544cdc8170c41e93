// See outputs.h.
#include "studio/job/outputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "core/base/error.h"
#include "core/base/replace_file.h"

namespace ipex_studio {
namespace {

namespace fs = std::filesystem;

// Throws Error(kUsage) when `path` cannot become a file.
void checkPlace(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    throw Error(ExitCode::kUsage, fmt::format("{} is a directory; give the name of a file.", path));
  }
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {
    throw Error(ExitCode::kUsage, fmt::format("{} is no plain file; give the name of one.", path));
  }
  const std::string folder = folderOf(path);
  if (!fs::is_directory(folder, ignored)) {
    throw Error(ExitCode::kUsage, fmt::format("The directory {} does not exist; make it first.", folder));
  }
  if (::access(folder.c_str(), W_OK) != 0) {
    throw Error(ExitCode::kUsage, fmt::format("The directory {} is not writable; choose another.", folder));
  }
}

// True if both paths name one place, whether or not there is a file.
bool isSamePlace(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return isSameFile(a, b) || (isSameFile(folderOf(a), folderOf(b)) && fs::path(a).filename() == fs::path(b).filename());
}

}  // namespace

bool isSameFile(const std::string& a, const std::string& b) {
  std::error_code missing;
  return fs::equivalent(a, b, missing) && !missing;
}

bool isTaken(const std::string& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

void checkOutputs(const OutputFiles& files, const std::string& how) {
  for (std::size_t i = 0; i < files.written.size(); ++i) {
    const std::string& path = files.written[i];
    if (path.empty()) continue;
    checkPlace(path);
    for (const std::string& read : files.read) {
      if (read.empty() || !isSameFile(path, read)) continue;
      throw Error(ExitCode::kUsage,
                  fmt::format("{} is {}, which is read and never replaced; write to another file.", path,
                              path == read ? "one of the files of this command" : "the same file as " + read));
    }
    for (std::size_t other = 0; other < i; ++other) {
      if (files.written[other].empty() || !isSamePlace(path, files.written[other])) continue;
      throw Error(ExitCode::kUsage, fmt::format("{} would be written twice; give two names.", path));
    }
    if (!files.replace && isTaken(path)) {
      throw Error(ExitCode::kUsage, fmt::format("{} exists already; {}.", path, how));
    }
  }
}

void checkDumpFolder(const std::string& folder, const std::string& how) {
  if (folder.empty()) return;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) {
    if (entry.path().extension() != kDumpExtension) continue;
    throw Error(ExitCode::kUsage, fmt::format("--dump: {} holds dumped graphs already; {}.", folder, how));
  }
}

}  // namespace ipex_studio
