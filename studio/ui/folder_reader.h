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
  std::int64_t bytes = 0;  // size of a file
};

struct FolderListing {
  std::string path;                  // absolute path
  std::vector<FolderEntry> entries;  // folders, then files, each by name, without hidden ones
  std::string problem;               // why the folder cannot be read, as a sentence; empty: it can
  bool cut = false;                  // true: the folder holds more than is listed
};

// Lists a folder, at most kMaxFolderEntries of it. Never throws.
FolderListing readFolder(const std::string& path);
constexpr std::size_t kMaxFolderEntries = 20000;

// Not thread-safe; used by one thread.
class FolderReader {
 public:
  // `wake` is called from another thread whenever a folder has been read.
  explicit FolderReader(std::function<void()> wake);
  ~FolderReader();  // leaves a read that is under way to itself
  FolderReader(const FolderReader&) = delete;
  FolderReader& operator=(const FolderReader&) = delete;

  // Asks for a folder; replaces an earlier wish that is not met yet.
  void read(const std::string& path);
  // The last listing; null before the first one.
  std::shared_ptr<const FolderListing> latest() const;
  bool busy() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace ipex_studio
