// Colours and sizes of everything drawn, in three themes; the contrast of text to its ground is at least 4.5 : 1.
#pragma once

#include <imgui.h>

#include <array>
#include <string>

#include "studio/snapshot/kind_group.h"

namespace ipex_studio {

struct Theme {
  ImU32 ground;  // ground of the canvas
  ImU32 panel;
  ImU32 raised;  // ground of buttons and hovered rows
  ImU32 node;    // faces of nodes on the canvas
  ImU32 line;    // hairlines, borders
  ImU32 text;
  ImU32 dim;        // secondary text
  ImU32 faint;      // edges, disabled text
  ImU32 selection;  // ground of selected things
  ImU32 accent;
  ImU32 on_accent;  // text on accent
  ImU32 good;
  ImU32 warning;
  ImU32 bad;
  std::array<ImU32, kKindGroups> kinds;

  ImU32 kind(KindGroup group) const { return kinds[static_cast<std::size_t>(group)]; }
};

// The theme of this name: "dark", "light" or "contrast". Throws Error(kUsage) for another.
Theme themeByName(const std::string& name);

// Writes the theme into the current ImGui context's style, with all sizes multiplied by `scale`.
void applyTheme(const Theme& theme, float scale);

// Ground and border of the box behind an open module of the graph.
ImU32 frameFace(const Theme& theme);
ImU32 frameLine(const Theme& theme);

// `color` with its alpha multiplied by `alpha` (0..1).
ImU32 withAlpha(ImU32 color, float alpha);
// A colour between two: `t` 0 gives `a`, 1 gives `b`.
ImU32 mixColors(ImU32 a, ImU32 b, float t);

}  // namespace ipex_studio
