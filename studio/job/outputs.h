// Files that a command is going to write, judged before its work begins.
#pragma once

#include <string>
#include <vector>

namespace ipex_studio {

constexpr const char* kDumpExtension = ".ir";  // of the graphs that --dump writes

struct OutputFiles {
  std::vector<std::string> written;  // empty paths count as none
  std::vector<std::string> read;     // the model and whatever else is read
  bool replace = false;              // true: other files that exist already may be replaced
};

// True if both paths lead to the same existing file, also through links.
bool isSameFile(const std::string& a, const std::string& b);

// True if the path names something that exists already, if only a link to nothing.
bool isTaken(const std::string& path);

// Throws Error(kUsage) when a path cannot become a file: it is a folder, or its folder is missing or not writable; when
// it is one of the files that are read, which are never replaced, or another output; or when it exists and may not be
// replaced. `how` says what a user does about that: "add --force to replace it".
void checkOutputs(const OutputFiles& files, const std::string& how);

// Throws Error(kUsage) if the folder for --dump holds graphs already. An empty path is none; `how` as above.
void checkDumpFolder(const std::string& folder, const std::string& how);

}  // namespace ipex_studio
