// Job folders, copies of exports, and files that are replaced whole.
#include "studio/job/session_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <limits>
#include <vector>

#include "core/base/replace_file.h"
#include "core/base/string_util.h"
#include "core/plan/prepared_weights.h"
#include "core/runtime/machine_facts.h"
#include "studio/job/outputs.h"

namespace ipex_studio {
namespace {

namespace fs = std::filesystem;

// Large enough that writes fill huge pages of the page cache, on kernels that have them for files.
constexpr std::size_t kChunk = 8 << 20;
constexpr const char* kJobFolderPrefix = "ipex-studio-";

// Opens a plain file, not a link: the engine may have left a link to something else.
UniqueFd openPlainFile(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw Error(ExitCode::kFailure, "The engine did not leave a file that could be exported.");
  }
  return fd;
}

// Copies at most `bytes` bytes of `source` from byte `at` on.
void copyAll(int source, int target, const std::string& target_path, std::int64_t at = 0,
             std::int64_t bytes = std::numeric_limits<std::int64_t>::max()) {
  std::vector<char> chunk(kChunk);
  while (bytes > 0) {
    const ssize_t count =
        ::pread(source, chunk.data(), static_cast<std::size_t>(std::min<std::int64_t>(kChunk, bytes)), at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) cannotWrite(target_path, errno);
    if (count == 0) return;
    writeAll(target, chunk.data(), static_cast<std::size_t>(count), target_path);
    at += count;
    bytes -= count;
  }
}

// Opens a folder itself, never the target of a link.
UniqueFd openFolder(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Removes this user's job folders in `base` whose programs have ended.
void removeAbandoned(const fs::path& base) {
  constexpr std::time_t kYoung = 60;  // seconds; a younger folder may not be locked yet
  std::error_code ignored;
  for (fs::directory_iterator at(base, ignored), end; at != end; at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    if (!startsWith(name, kJobFolderPrefix) || name.size() != std::strlen(kJobFolderPrefix) + 6) continue;
    const UniqueFd folder = openFolder(at->path().string());
    struct stat status {};
    if (!folder || ::fstat(folder.get(), &status) != 0 || status.st_uid != ::geteuid()) continue;
    if (std::time(nullptr) - status.st_mtime < kYoung || ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) continue;
    fs::remove_all(at->path(), ignored);
  }
}

}  // namespace

CheckedModel checkModel(const std::string& path) {
  CheckedModel model;
  model.path = path;
  model.fd.reset(openModelFile(path));
  model.report = inspectPtFile(model.fd.get(), path, InspectOptions{true, false});
  model.machine = machineFacts();
  return model;
}

JobFolder::JobFolder() {
  const char* base = std::getenv("TMPDIR");
  const fs::path parent = fs::absolute(base != nullptr && *base != '\0' ? base : "/tmp");
  path_ = (parent / kJobFolderPrefix).string() + "XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) {
    throw Error(ExitCode::kFailure, fmt::format("Cannot make a folder for temporary files as {} ({}); set TMPDIR to a "
                                                "writable folder.",
                                                path_, std::strerror(errno)));
  }
  lock_ = openFolder(path_);
  if (lock_) ::flock(lock_.get(), LOCK_EX | LOCK_NB);
  removeAbandoned(parent);
}

JobFolder::~JobFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

UniqueFd openExportFile(const JobFolder& folder) {
  UniqueFd file(::open((folder.path() + "/export.pt").c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file)
    throw Error(ExitCode::kFailure, fmt::format("Cannot write to {}; set TMPDIR to another folder.", folder.path()));
  return file;
}

void moveExport(int source, std::int64_t bytes, const std::string& target) {
  replaceFile(target, [&](int fd) {
    copyAll(source, fd, target, 0, bytes);
    // The copy is checked, not the original, which the engine could still change.
    try {
      inspectPtFile(fd, target, InspectOptions{false, false});
    } catch (const Error& error) {
      throw Error(ExitCode::kFailure,
                  fmt::format("The engine wrote a damaged file; nothing was exported. {}", error.what()));
    }
  });
}

void movePreparedWeights(int source, std::int64_t begin, const std::string& target) {
  const auto fill = [&](int fd) {
    copyAll(source, fd, target, begin);
    PreparedWeights::check(fd, target);
  };
  replaceFile(target, fill, 0644);
}

void copyDumps(const std::string& source, const std::string& target) {
  std::error_code code;
  fs::create_directories(target, code);
  if (code) cannotWrite(target, code.value());
  for (const auto& entry : fs::directory_iterator(source, code)) {
    if (entry.path().extension() != kDumpExtension) continue;
    const UniqueFd file = openPlainFile(entry.path().string());
    const std::string path = (fs::path(target) / entry.path().filename()).string();
    replaceFile(path, [&](int fd) { copyAll(file.get(), fd, path); });
  }
}

}  // namespace ipex_studio
