// See file_dialog.h.
#include "studio/panels/dialogs/file_dialog.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "core/base/string_util.h"
#include "profiler/text.h"
#include "studio/snapshot/snapshot_index.h"
#include "studio/ui/imgui_compat.h"

namespace ipex_studio {
namespace {

constexpr float kDialogPoints = 720;
constexpr float kFilesPoints = 380;
constexpr float kFilePoints = 26;
constexpr const char* kModelEnds[] = {".pt", ".pth", ".ts", ".jit", ".torchscript", ".db"};

// A path as shells have it: ~ is the home folder.
std::string withHome(const std::string& path) {
  const char* home = std::getenv("HOME");
  const bool at_home = path == "~" || path.rfind("~/", 0) == 0;
  return at_home && home != nullptr && home[0] == '/' ? home + path.substr(1) : path;
}

std::string inFolder(const std::string& folder, const std::string& name) {
  return (folder == "/" ? "" : folder) + "/" + name;
}

}  // namespace

std::pair<std::string, std::string> splitPath(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

void FileDialog::open(const std::string& title, FileWish wish, const std::string& start) {
  title_ = title;
  wish_ = wish;
  taken_ = false;
  chosen_.clear();
  if (!reader_) reader_ = std::make_unique<FolderReader>(ui_.wake);
  std::error_code ignored;
  auto [folder, name] = splitPath(start);
  setField(&name_, wish == FileWish::kSave ? name : "");
  if (folder.empty()) folder = std::filesystem::current_path(ignored).string();
  enter(folder);
  opening_ = true;
}

void FileDialog::enter(const std::string& folder) {
  folder_ = folder;
  chosen_.clear();
  if (wish_ != FileWish::kSave) name_.fill(0);
  reader_->read(folder);
}

bool FileDialog::fits(const FolderEntry& entry) const {
  if (entry.folder || wish_ != FileWish::kModel) return true;
  return std::any_of(std::begin(kModelEnds), std::end(kModelEnds),
                     [&](const char* end) { return endsWith(entry.name, end); });
}

void FileDialog::adopt(const FolderListing& listing) {
  const std::string filter = wish_ == FileWish::kSave ? "" : name_.data();
  const bool path = filter.find('/') != std::string::npos;
  entries_.clear();
  for (std::size_t e = 0; e < listing.entries.size(); ++e) {
    const FolderEntry& entry = listing.entries[e];
    if (fits(entry) && (path || filter.empty() || filter == chosen_ || entry.name.find(filter) != std::string::npos))
      entries_.push_back(e);
  }
}

bool FileDialog::draw() {
  if (opening_) ImGui::OpenPopup(title_.c_str());
  opening_ = false;
  if (!beginDialog(ui_, title_.c_str(), kDialogPoints)) return false;
  const auto listing = reader_->latest();
  const bool fresh = listing != shown_;
  shown_ = listing;
  if (shown_ && (fresh || filter_ != name_.data())) adopt(*shown_);
  filter_ = name_.data();
  label(ui_.theme.text, title_, ui_.fonts.strong);
  ImGui::Dummy({1, ui_.px(2)});
  drawPlaces();
  const float height = std::min(ui_.px(kFilesPoints), ImGui::GetIO().DisplaySize.y - ui_.px(240));
  if (beginArea(ui_, "entries", {0, std::max(height, ui_.px(80))}, ui_.theme.ground, {0, 4},
                ImGuiWindowFlags_NavFlattened)) {
    if (reader_->busy() || !shown_) {
      emptyState(ui_, "Reading the folder", "One moment.");
    } else if (!shown_->problem.empty()) {
      emptyState(ui_, "No entry", shown_->problem);
    } else if (entries_.empty()) {
      emptyState(ui_, "Nothing here",
                 wish_ == FileWish::kModel ? "There is neither a folder nor a model (.pt) nor a database (.db) here."
                                           : "This folder is empty.");
    } else {
      drawEntries(*shown_, height);
    }
  }
  endArea();
  const bool chosen = drawFoot(shown_.get());
  if (chosen || keyPressed(ImGuiKey_Escape)) ImGui::CloseCurrentPopup();
  endDialog();
  return chosen;
}

// The folder as links to all folders around it, and where people keep their files.
void FileDialog::drawPlaces() {
  const std::string folder = shown_ && !reader_->busy() ? shown_->path : folder_;
  const float right = ImGui::GetContentRegionAvail().x;
  std::vector<std::pair<std::string, std::string>> parts;  // name, path
  for (std::size_t at = 1; at < folder.size();) {
    const std::size_t end = std::min(folder.find('/', at), folder.size());
    parts.emplace_back(folder.substr(at, end - at), folder.substr(0, end));
    at = end + 1;
  }
  // The innermost folders that have room.
  std::size_t first = parts.size();
  float width = ui_.px(150);
  while (first > 0) {
    width += ImGui::CalcTextSize(displayText(parts[first - 1].first, 60).c_str()).x + ui_.px(18);
    if (width > right) break;
    --first;
  }
  std::string wanted;
  if (link(ui_, "root", "/")) wanted = "/";
  if (first > 0) {
    ImGui::SameLine(0, ui_.px(6));
    label(ui_.theme.dim, "…");
  }
  for (std::size_t p = first; p < parts.size(); ++p) {
    ImGui::SameLine(0, ui_.px(6));
    if (p > first || first > 0) {
      label(ui_.theme.dim, "/");
      ImGui::SameLine(0, ui_.px(6));
    }
    ImGui::PushID(static_cast<int>(p));
    if (link(ui_, "part", displayText(parts[p].first, 60))) wanted = parts[p].second;
    ImGui::PopID();
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
    ImGui::SameLine(right - ui_.px(30), 0);
    if (link(ui_, "home", "Home")) wanted = home;
  }
  ImGui::Dummy({1, ui_.px(4)});
  if (!wanted.empty()) enter(wanted);
}

void FileDialog::clickEntry(const FolderEntry& entry, bool twice) {
  if (entry.folder && (twice || wish_ != FileWish::kFileOrFolder)) {
    enter(inFolder(shown_->path, entry.name));
    return;
  }
  chosen_ = entry.name;
  setField(&name_, entry.name);
  taken_ = twice && wish_ != FileWish::kSave;
}

void FileDialog::drawEntries(const FolderListing& listing, float height) {
  const float row = std::floor(ui_.px(kFilePoints));
  const float width = ImGui::GetContentRegionAvail().x;
  ImDrawList* list = ImGui::GetWindowDrawList();
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(entries_.size()), row);
  const FolderEntry* clicked = nullptr;
  bool twice = false;
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      const FolderEntry& entry = listing.entries[entries_[static_cast<std::size_t>(i)]];
      ImGui::PushID(i);
      const ImVec2 at = ImGui::GetCursorScreenPos();
      if (ImGui::InvisibleButton("entry", {width, row})) clicked = &entry;
      // The list is one stop for Tab; arrow keys go on from there.
      const bool stop = entry.name == chosen_ || i == clipper.DisplayStart;
      const bool reached = reachedByKeys(ui_, TabStop::kPress, stop);
      if (reached && keyPressedOnce(ImGuiKey_Enter)) {
        clicked = &entry;
        twice = true;
      }
      const bool hovered = ImGui::IsItemHovered() || reached;
      if (hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
        clicked = &entry;
        twice = true;
      }
      ImGui::PopID();
      const bool marked = entry.name == chosen_;
      if (marked || hovered)
        list->AddRectFilled(at, {at.x + width, at.y + row}, marked ? ui_.theme.selection : ui_.theme.raised);
      const float y = std::floor(at.y + (row - ui_.fonts.text->FontSize) / 2);
      const std::string name = displayText(entry.name, 90) + (entry.folder ? "/" : "");
      list->AddText(ui_.fonts.text, ui_.fonts.text->FontSize, {at.x + ui_.px(14), y},
                    entry.folder ? ui_.theme.text : ui_.theme.accent, name.data(), name.data() + name.size());
      if (entry.folder) continue;
      const std::string size = formatBytes(entry.bytes);
      const float size_width = ImGui::CalcTextSize(size.c_str()).x;
      list->AddText(ui_.fonts.text, ui_.fonts.text->FontSize, {std::floor(at.x + width - size_width - ui_.px(16)), y},
                    ui_.theme.dim, size.c_str());
    }
  }
  ImGui::PopStyleVar();
  if (listing.cut && ImGui::GetScrollMaxY() < height) label(ui_.theme.warning, "There are more; type a name.");
  if (clicked != nullptr) clickEntry(*clicked, twice);
}

bool FileDialog::drawFoot(const FolderListing* listing) {
  ImGui::Dummy({1, ui_.px(4)});
  ImGui::SetNextItemWidth(-1);
  const char* hint = wish_ == FileWish::kSave ? "name of the file" : "type to filter, or a whole path";
  const bool entered =
      ImGui::InputTextWithHint("##name", hint, name_.data(), name_.size(), ImGuiInputTextFlags_EnterReturnsTrue);
  tabField(ui_);
  ImGui::Dummy({1, ui_.px(4)});
  const std::string typed = withHome(name_.data());
  const bool folder_itself = wish_ == FileWish::kFileOrFolder && typed.empty();
  const bool possible = listing != nullptr && (folder_itself || !typed.empty());
  const char* text = wish_ == FileWish::kSave    ? "Choose"
                     : folder_itself             ? "Choose this folder"
                     : wish_ == FileWish::kModel ? "Open"
                                                 : "Choose";
  const bool pressed = confirmButton(ui_, "choose", text,
                                     listing == nullptr ? "The folder is being read."
                                     : possible         ? ""
                                                        : "Choose a file above, or type its name.");
  ImGui::SameLine();
  if (button(ui_, "close", "Cancel", ButtonLook::kPlain)) ImGui::CloseCurrentPopup();
  if (!possible || !(pressed || taken_ || (entered && !typed.empty()))) return false;
  taken_ = false;
  // A name that stands for exactly one thing is that thing.
  std::string name = typed;
  if (wish_ != FileWish::kSave && entries_.size() == 1 && typed.find('/') == std::string::npos)
    name = listing->entries[entries_[0]].name;
  const auto entry = std::find_if(listing->entries.begin(), listing->entries.end(),
                                  [&](const FolderEntry& e) { return e.name == name; });
  if (wish_ != FileWish::kFileOrFolder && entry != listing->entries.end() && entry->folder) {
    enter(inFolder(listing->path, name));
    return false;
  }
  path_ = folder_itself ? listing->path : name[0] == '/' ? name : inFolder(listing->path, name);
  std::error_code ignored;
  if (wish_ == FileWish::kFileOrFolder || !std::filesystem::is_directory(path_, ignored)) return true;
  enter(path_);
  name_.fill(0);
  return false;
}

}  // namespace ipex_studio
