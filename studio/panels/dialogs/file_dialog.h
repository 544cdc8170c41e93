// The dialog in which files and folders are chosen, and named.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "studio/ui/folder_reader.h"
#include "studio/ui/widgets.h"

namespace ipex_studio {

// Kinds of files that may be chosen.
enum class FileWish { kModel, kFile, kFileOrFolder, kSave };

class FileDialog {
 public:
  explicit FileDialog(const Ui& ui) : ui_(ui) {}
  // Begins at `start`: a folder, or a file in it; empty: the current folder. Takes effect with the next draw(), which
  // must happen in the same window.
  void open(const std::string& title, FileWish wish, const std::string& start);
  // True in the frame in which something was chosen.
  bool draw();
  const std::string& path() const { return path_; }
  // False while a folder is being read.
  bool settled() const { return !reader_ || !reader_->busy(); }

 private:
  void enter(const std::string& folder);
  void drawPlaces();
  void drawEntries(const FolderListing& listing, float height);
  bool drawFoot(const FolderListing* listing);
  void adopt(const FolderListing& listing);
  bool fits(const FolderEntry& entry) const;
  void clickEntry(const FolderEntry& entry, bool twice);

  const Ui& ui_;
  std::unique_ptr<FolderReader> reader_;
  std::shared_ptr<const FolderListing> shown_;
  std::vector<std::size_t> entries_;  // indexes into shown_ of entries that fit the wish and the filter
  std::string title_;
  std::string folder_;
  std::string path_;
  FileWish wish_ = FileWish::kModel;
  std::array<char, 1024> name_{};
  std::string chosen_;  // name of the marked entry
  std::string filter_;
  bool opening_ = false;
  bool taken_ = false;
};

// The folder around a path, and what is left of it: "/a/b" and "c.pt" of "/a/b/c.pt".
std::pair<std::string, std::string> splitPath(const std::string& path);

}  // namespace ipex_studio
