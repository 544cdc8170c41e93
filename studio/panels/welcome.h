// The first page: how to open a file, and the files opened before.
#pragma once

#include "studio/panels/panel.h"

namespace ipex_studio {

// Draws the page into the middle of the current window.
void drawWelcome(const Ui& ui, Selection& selection, Commands& commands);

// Draws links to the files opened before with their folders, at most `most`, `width` pixels wide. True if one was
// clicked.
bool drawRecent(const Ui& ui, std::size_t most, float width, Commands& commands);

}  // namespace ipex_studio
