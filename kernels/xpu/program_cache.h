// Compiled programs on disk, so that a second start compiles nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ipex_studio {

// A folder of files, one for each program, driver and device. Files are checked when they are read and appear whole, so
// any number of processes may use one folder, and be killed, at any time. Thread-safe.
class ProgramCache {
 public:
  // `folder` need not exist. Empty: nothing is kept.
  explicit ProgramCache(std::string folder) : folder_(std::move(folder)) {}

  // The bytes kept under this key; nothing where there are none, or damaged ones.
  std::optional<std::string> read(std::string_view key) const;
  // Keeps bytes under this key. False where the folder cannot be written, which costs time at the next start only.
  bool write(std::string_view key, std::string_view bytes) const;

  const std::string& folder() const { return folder_; }

 private:
  std::string pathOf(std::string_view key) const;

  std::string folder_;
};

}  // namespace ipex_studio
