// See replace_file.h.
#include "core/base/replace_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/base/error.h"

namespace ipex_studio {
namespace {

// Closes a descriptor at the end of its scope.
class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

void cannotWrite(const std::string& path, int code) {
  throw Error(ExitCode::kFailure, fmt::format("Cannot write {} ({}).", path, std::strerror(code)));
}

std::string folderOf(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

void writeAll(int fd, const char* bytes, std::size_t count, const std::string& target) {
  while (count > 0) {
    const ssize_t written = ::write(fd, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) cannotWrite(target, written < 0 ? errno : ENOSPC);
    bytes += written;
    count -= static_cast<std::size_t>(written);
  }
}

void replaceFile(const std::string& target, const std::function<void(int fd)>& fill, mode_t mode) {
  std::string temporary = target + ".XXXXXX";
  const OpenFile file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (file.get() < 0) cannotWrite(target, errno);
  try {
    fill(file.get());
    // mkostemp makes the file private; a file that the user asked for follows the umask.
    const mode_t mask = ::umask(0);
    ::umask(mask);
    ::fchmod(file.get(), mode & ~mask);
    if (::fsync(file.get()) != 0) cannotWrite(target, errno);
    if (::rename(temporary.c_str(), target.c_str()) != 0) cannotWrite(target, errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  const OpenFile folder(::open(folderOf(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() >= 0) ::fsync(folder.get());
}

void writeFileAtomically(const std::string& path, const std::string& text) {
  replaceFile(path, [&](int fd) { writeAll(fd, text.data(), text.size(), path); });
}

}  // namespace ipex_studio
