// The sheet that explains the words of the window.
#pragma once

#include "studio/ui/selection.h"
#include "studio/ui/widgets.h"

namespace ipex_studio {

// Draws the sheet over everything else once the action "words" has opened it.
void drawWordList(const Ui& ui, Selection& selection);

}  // namespace ipex_studio
