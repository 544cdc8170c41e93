// The right end of the run bar: what runs, or the one big number with its interval and its accuracy.
#pragma once

#include "studio/panels/panel.h"

namespace ipex_studio {

// From the right edge of the window in hand leftwards; returns where it begins. `room`: pixels that nothing else needs; what
// finds none is left out, least important first.
float drawRunResult(const Ui& ui, const StudioSnapshot& snapshot, float room);

}  // namespace ipex_studio
