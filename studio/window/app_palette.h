// The command palette and the sheet of shortcuts.
#pragma once

#include <array>

#include "studio/ui/selection.h"
#include "studio/ui/widgets.h"

namespace ipex_studio {

class Palette {
 public:
  explicit Palette(const Ui& ui) : ui_(ui) {}
  // Draws the palette or the sheet over everything else. The actions "palette" and "shortcuts" open them; a chosen
  // action is requested.
  void draw(Selection& selection);
  bool open() const { return open_; }

 private:
  void drawPalette(Selection& selection);
  void drawShortcuts();
  bool drawRow(const char* title, const char* keys, bool chosen, float width) const;

  const Ui& ui_;
  bool open_ = false;
  bool focus_ = false;
  std::array<char, 96> query_{};
  int chosen_ = 0;
};

}  // namespace ipex_studio
