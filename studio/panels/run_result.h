// The right end of the run bar: what runs, or the one big number with its interval and its accuracy.
#pragma once

#include "studio/panels/panel.h"

namespace ipex_studio {

// Draws from the right edge of the current window leftwards, and returns the left end in pixels. `room`: pixels that
// nothing else needs; what does not fit is left out, the least important first.
float drawRunResult(const Ui& ui, const StudioSnapshot& snapshot, float room);

}  // namespace ipex_studio
