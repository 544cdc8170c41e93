// Files with the content of the window: the table of a tab, the screen as a picture or as HTML.
#pragma once

#include <string>

#include "studio/snapshot/commands.h"
#include "studio/snapshot/snapshot.h"

namespace ipex_studio {

struct WrittenFile {
  std::string sentence;  // that names it
  std::string path;
};

// These functions write a file. They throw Error if it cannot be written.
WrittenFile saveTable(const SaveTableCommand& command, const StudioSnapshot& snapshot);
WrittenFile saveReport(const ReportCommand& command, const StudioSnapshot& snapshot);

}  // namespace ipex_studio
