// The fonts of the window: Inter for text, JetBrains Mono for shapes, layouts, kernels and IR.
#pragma once

#include <imgui.h>

namespace ipex_studio {

struct Fonts {
  ImFont* text = nullptr;        // 13 px; digits have equal widths in all fonts
  ImFont* head = nullptr;        // 12 px semibold
  ImFont* strong = nullptr;      // 15 px semibold
  ImFont* big = nullptr;         // 26 px semibold
  ImFont* mono = nullptr;        // 12 px
  ImFont* small_mono = nullptr;  // 11 px
};

// Fills the current ImGui context's atlas with the fonts in the pixel sizes for `scale`. Where the files are not
// installed ImGui's own font takes their place. `io.FontDefault` becomes the text font.
Fonts loadFonts(float scale);

}  // namespace ipex_studio
