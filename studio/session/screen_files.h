// Files with the content of the window: the table of a tab, the screen as a picture or as HTML.
#pragma once

#include <string>

#include "studio/snapshot/commands.h"
#include "studio/snapshot/snapshot.h"

namespace ipex_studio {

// These functions write a file and return a sentence that names it. They throw Error if the file cannot be written.
std::string saveTable(const SaveTableCommand& command, const StudioSnapshot& snapshot);
std::string saveReport(const ReportCommand& command, const StudioSnapshot& snapshot);

}  // namespace ipex_studio
