// The line at the bottom of the window: the newest line of the log, and the way to a file that it tells of.
#pragma once

#include "studio/snapshot/commands.h"
#include "studio/snapshot/snapshot.h"
#include "studio/ui/selection.h"
#include "studio/ui/widgets.h"

namespace ipex_studio {

constexpr float kStatusPoints = 28;

// Fills the current window, which is kStatusPoints high.
void drawStatusLine(const Ui& ui, const StudioSnapshot& snapshot, Selection& selection, Commands& commands);

// The file that was written last; empty: none.
std::string lastWritten(const StudioSnapshot& snapshot);

}  // namespace ipex_studio
