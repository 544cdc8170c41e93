// The row below the run bar: every decision and flag in force as a chip with a cross that removes it.
#pragma once

#include <string>
#include <vector>

#include "studio/snapshot/commands.h"
#include "studio/snapshot/snapshot.h"
#include "studio/ui/widgets.h"

namespace ipex_studio {

struct ModeChip {
  std::string text;     // "all in BF16", "--instances 2"
  std::string tooltip;  // what the cross does
  Command remove;
};

// Decisions first, then flags; empty where the model runs as the bar says.
std::vector<ModeChip> modeChips(const StudioSnapshot& snapshot);

constexpr float kChipRowPoints = 36;

// Draws the row at the cursor, over the width of the window; what does not fit stands in a menu at its end.
void drawModeChips(const Ui& ui, const StudioSnapshot& snapshot, Commands& commands);

}  // namespace ipex_studio
