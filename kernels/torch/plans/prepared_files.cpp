#include "kernels/torch/plans/prepared_files.h"

#include <c10/util/Exception.h>
#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

#include "core/runtime/machine_facts.h"
#include "kernels/onednn/onednn_version.h"
#include "kernels/torch/plans/tuning.h"

namespace ipex_studio {
namespace {

// Identity and state of a file.
using FileKey = std::tuple<dev_t, ino_t, off_t, std::int64_t, std::int64_t>;

bool beginsLikeArchive(int fd) {
  constexpr char kZip[4] = {'P', 'K', 3, 4};
  char begin[4] = {};
  return ::pread(fd, begin, sizeof begin, 0) == static_cast<ssize_t>(sizeof begin) &&
         std::equal(begin, begin + 4, kZip);
}

// Paths of the archives this process has open, as the kernel knows them.
std::set<std::string> openArchives() {
  std::set<std::string> paths;
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return paths;
  while (const dirent* entry = ::readdir(folder)) {
    char* end = nullptr;
    const long fd = std::strtol(entry->d_name, &end, 10);
    if (end == entry->d_name || *end != '\0' || fd == ::dirfd(folder)) continue;
    char path[PATH_MAX];
    const ssize_t length = ::readlinkat(::dirfd(folder), entry->d_name, path, sizeof path);
    if (length <= 0 || length == static_cast<ssize_t>(sizeof path) || path[0] != '/') continue;
    struct stat status {};
    if (::fstat(static_cast<int>(fd), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    if (beginsLikeArchive(static_cast<int>(fd))) paths.emplace(path, static_cast<std::size_t>(length));
  }
  ::closedir(folder);
  return paths;
}

}  // namespace

std::string preparedMachine() {
  static const std::string text =
      fmt::format("{}, {}, {}", machineFacts().isa, onednnInstructions(), tuningLibraries());
  return text;
}

std::vector<std::shared_ptr<const PreparedWeights>> preparedBesideOpenFiles() {
  static std::mutex mutex;
  static auto& known = *new std::map<FileKey, std::weak_ptr<const PreparedWeights>>;
  std::vector<std::shared_ptr<const PreparedWeights>> found;
  for (const std::string& archive : openArchives()) {
    const std::string path = archive + kPreparedSuffix;
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) continue;
    const std::lock_guard<std::mutex> lock(mutex);
    std::weak_ptr<const PreparedWeights>& entry =
        known[{status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec}];
    std::shared_ptr<const PreparedWeights> weights = entry.lock();
    if (!weights) {
      std::string problem;
      weights = PreparedWeights::open(path, preparedMachine(), &problem);
      entry = weights;
      if (!problem.empty()) warnOnce(problem);
    }
    if (weights) found.push_back(std::move(weights));
  }
  return found;
}

void warnOnce(const std::string& sentence) {
  static std::mutex mutex;
  static auto& said = *new std::set<std::string>;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!said.insert(sentence).second) return;
  }
  TORCH_WARN(sentence);
}

}  // namespace ipex_studio
