// Lists folders on a thread of its own: a slow disk or a dead network share never stops the window.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ipex_studio {

struct FolderEntry {
  std::string name;
  bool folder = false;
  std::int64_t bytes = 0;  // of a file
};

struct FolderListing {
  std::string path;                  // absolute
  std::vector<FolderEntry> entries;  // folders first, then files, each by name; hidden ones are left out
  std::string problem;               // why it cannot be read, as a sentence; empty: it could
  bool cut = false;                  // it holds more than is listed
};

// Throws nothing. Reads at most kMaxFolderEntries.
FolderListing readFolder(const std::string& path);
constexpr std::size_t kMaxFolderEntries = 20000;

// Used by one thread.
class FolderReader {
 public:
  // `wake` is called from another thread whenever a folder has been read.
  explicit FolderReader(std::function<void()> wake);
  ~FolderReader();  // does not wait for a folder that is being read
  FolderReader(const FolderReader&) = delete;
  FolderReader& operator=(const FolderReader&) = delete;

  // A newer wish replaces an older one.
  void read(const std::string& path);
  // The last listing; null before the first one.
  std::shared_ptr<const FolderListing> latest() const;
  bool busy() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace ipex_studio
