// See folder_reader.h.
#include "studio/ui/folder_reader.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace ipex_studio {

namespace fs = std::filesystem;

FolderListing readFolder(const std::string& path) {
  FolderListing listing;
  std::error_code error;
  listing.path = fs::absolute(path, error).lexically_normal().string();
  if (listing.path.size() > 1 && listing.path.back() == '/') listing.path.pop_back();
  fs::directory_iterator at(listing.path, error);
  for (const fs::directory_iterator end; !error && at != end; at.increment(error)) {
    FolderEntry entry;
    entry.name = at->path().filename().string();
    if (entry.name.empty() || entry.name[0] == '.') continue;
    if (listing.entries.size() == kMaxFolderEntries) {
      listing.cut = true;
      break;
    }
    std::error_code unknown;
    entry.folder = at->is_directory(unknown);
    if (!entry.folder) {
      const auto bytes = at->file_size(unknown);
      entry.bytes = unknown ? 0 : static_cast<std::int64_t>(bytes);
    }
    listing.entries.push_back(std::move(entry));
  }
  if (error) listing.problem = "This folder cannot be read: " + error.message() + ".";
  std::sort(listing.entries.begin(), listing.entries.end(), [](const FolderEntry& a, const FolderEntry& b) {
    return a.folder != b.folder ? a.folder : a.name < b.name;
  });
  return listing;
}

struct FolderReader::Shared {
  std::mutex mutex;
  std::function<void()> wake;
  std::uint64_t wanted = 0;
  std::uint64_t answered = 0;
  std::shared_ptr<const FolderListing> latest;
};

FolderReader::FolderReader(std::function<void()> wake) : shared_(std::make_shared<Shared>()) {
  shared_->wake = std::move(wake);
}

FolderReader::~FolderReader() {
  const std::lock_guard lock(shared_->mutex);
  shared_->wake = nullptr;
}

void FolderReader::read(const std::string& path) {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(shared_->mutex);
    number = ++shared_->wanted;
  }
  // The thread is detached: a share that never answers must not keep the window from closing.
  std::thread([shared = shared_, path, number] {
    auto listing = std::make_shared<const FolderListing>(readFolder(path));
    const std::lock_guard lock(shared->mutex);
    if (number != shared->wanted) return;
    shared->answered = number;
    shared->latest = std::move(listing);
    if (shared->wake) shared->wake();
  }).detach();
}

std::shared_ptr<const FolderListing> FolderReader::latest() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->latest;
}

bool FolderReader::busy() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->answered != shared_->wanted;
}

}  // namespace ipex_studio
