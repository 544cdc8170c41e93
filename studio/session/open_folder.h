// The desktop's file manager.
#pragma once

#include <string>

namespace ipex_studio {

// Shows the folder that holds `path` in the file manager of the desktop, by xdg-open, and does not wait for it. Throws
// Error if the desktop has none.
void openFolderOf(const std::string& path);

}  // namespace ipex_studio
