// Mapping from the scene to the screen, and the level of detail at a zoom. Private to the canvas.
#pragma once

#include "studio/canvas/graph_canvas.h"

namespace ipex_studio {

struct GraphCanvas::View {
  const CanvasScene& scene;
  const Theme& theme;
  const Fonts& fonts;
  ImDrawList* list;
  ImVec2 origin;  // upper left corner of the view on the screen
  ImVec2 size;
  float scale;  // scale of the interface
  float zoom;   // screen pixels per scene pixel
  LayoutPoint centre;

  float x(float scene_x) const { return origin.x + size.x / 2 + (scene_x - centre.x) * zoom; }
  float y(float scene_y) const { return origin.y + size.y / 2 + (scene_y - centre.y) * zoom; }
  ImVec2 at(LayoutPoint point) const { return {x(point.x), y(point.y)}; }
  LayoutPoint toScene(ImVec2 screen) const {
    return {(screen.x - origin.x - size.x / 2) / zoom + centre.x, (screen.y - origin.y - size.y / 2) / zoom + centre.y};
  }
  SpatialIndex::Box visible() const {
    const LayoutPoint low = toScene(origin);
    const LayoutPoint high = toScene({origin.x + size.x, origin.y + size.y});
    return {low.x, low.y, high.x, high.y};
  }
  ImU32 color(const CanvasNode& node) const {
    return node.tint >= 0 ? theme.kinds[static_cast<std::size_t>(node.tint) % theme.kinds.size()]
                          : theme.kind(node.group);
  }
  // Zoom without the interface's scale.
  float detail() const { return zoom / scale; }
};

// Levels of detail, by View::detail().
constexpr float kFullDetail = 0.62F;   // least detail with both lines of text, labels on edges, rounded corners
constexpr float kTitleDetail = 0.38F;  // least detail with titles and curves
// Below kTitleDetail, filled boxes and straight lines are drawn.

}  // namespace ipex_studio
