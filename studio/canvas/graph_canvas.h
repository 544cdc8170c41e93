// A canvas for large graphs on ImDrawList: pan, zoom, fit, minimap, hover and click. Draws only what is in view and can
// be read at the zoom. The canvas knows nothing of models: it draws a neutral scene and reports what was clicked. The
// drawing thread uses it; any thread may make scenes.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "studio/canvas/graph_layout.h"
#include "studio/ui/fonts.h"
#include "studio/ui/theme.h"

namespace ipex_studio {

// A node's difference from the compared graph; drawn as a sign, never as a colour alone.
enum class CanvasMark : std::uint8_t { kNone, kAdded, kRemoved, kChanged };

// A box with two lines of text. Coordinates are in pixels at 100 % zoom and scale 1; strings are fit for display (see
// displayText()).
struct CanvasNode {
  LayoutPoint corner;
  LayoutSize size;
  std::string title;
  std::string facts;        // text of the second line
  std::string corner_text;  // text at the right of the title, such as a time
  KindGroup group = KindGroup::kOther;
  std::int8_t tint = -1;  // colour of the strip, an index into Theme::kinds; -1: that of the group
  CanvasMark mark = CanvasMark::kNone;
  float heat = 0;            // length of the bar at the lower edge, 0..1
  bool heat_is_bad = false;  // true: the bar shows an error, not a time
  bool hatched = false;      // true: the node stays with the interpreter
  bool folded = false;       // true: a module whose nodes are not shown
};

struct CanvasEdge {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::string label;        // short text: a shape
  std::string long_label;   // text with dtype and layout, drawn where there is room
  std::string cost;         // text of an edge that is drawn thick; empty: drawn as others
  std::int32_t value = -1;  // number of the value; edges with equal ones carry the same value
};

// Height of the title of a box behind the nodes of an open module.
constexpr float kFrameHead = 15;
struct CanvasFrame {
  LayoutPoint low;
  LayoutPoint high;
  std::string title;
  std::int32_t module = -1;
};

// Index over boxes: maps each cell of a grid over the scene to the boxes that touch it.
class SpatialIndex {
 public:
  struct Box {
    float left, top, right, bottom;
  };
  void build(const std::vector<Box>& boxes, float width, float height);
  // Finds the boxes in cells that `view` touches: ascending, unique indexes.
  void query(const Box& view, std::vector<std::int32_t>* found) const;

 private:
  struct Cells {
    std::int32_t left, top, right, bottom;
  };
  Cells cellsOf(const Box& box) const;

  std::int32_t columns_ = 0;
  std::int32_t rows_ = 0;
  std::vector<std::int32_t> begin_;
  std::vector<std::int32_t> items_;
};

// Nodes, edges and frames to draw. Immutable once finished, so threads can share it; made off the drawing thread.
struct CanvasScene {
  std::vector<CanvasNode> nodes;
  std::vector<CanvasEdge> edges;
  std::vector<CanvasFrame> frames;
  std::vector<CanvasFrame> districts;  // modules on the minimap, open or not
  Layout layout;                       // routes and points of the edges, and the scene's size
  SpatialIndex node_index;
  SpatialIndex edge_index;
  // Beginnings of the nodes' edges: those of node n are edges_of[edges_of_begin[n] .. edges_of_begin[n + 1]).
  std::vector<std::int32_t> edges_of_begin;
  std::vector<std::int32_t> edges_of;

  // Takes over a layout of exactly these nodes and edges, and builds the indexes.
  void finish(Layout result);
  // Builds the indexes over nodes that have their corners and edges that have their routes.
  void index();
};

struct CanvasResult {
  std::int32_t clicked = -1;         // node
  std::int32_t double_clicked = -1;  // node
  std::int32_t hovered = -1;         // node
  std::int32_t clicked_edge = -1;
  std::int32_t hovered_edge = -1;
  std::int32_t clicked_frame = -1;  // frame whose head was clicked
  std::int32_t menu = -1;           // node that was clicked with the right button
  bool clicked_ground = false;
};

class GraphCanvas {
 public:
  // Draws into the next `size` pixels of the current ImGui window. `selected` is ascending.
  CanvasResult draw(const char* id, ImVec2 size, const CanvasScene& scene, const std::vector<std::int32_t>& selected,
                    const Theme& theme, const Fonts& fonts, float scale);

  // These requests to the view take effect with the next draw().
  void requestFit() { request_ = Request::kFit; }
  // Shows the top of the graph, as large as possible with all of the top in view; never above 100 %.
  void requestStart() { request_ = Request::kStart; }
  void zoomTo(const std::vector<std::int32_t>& nodes) { zoom_to_ = nodes; }
  // Highlights all edges that carry this value (CanvasEdge::value) and the nodes that read it; -1: none.
  void trace(std::int32_t value) { traced_ = value; }
  std::int32_t traced() const { return traced_; }
  void reveal(const std::vector<std::int32_t>& nodes) { reveal_ = nodes; }
  // What the last draw() has brought into view; its right is less than its left if it was nothing.
  const SpatialIndex::Box& revealed() const { return revealed_; }
  // Brings this into the same view as what reveal() asks for, where both can be read.
  void revealAlso(const SpatialIndex::Box& box) { also_ = box; }
  // Moves the view by shares of its size.
  void pan(float right, float down) { pan_ = {pan_.x + right, pan_.y + down}; }
  // Keeps a point of the scene that moved where it is on the screen.
  void follow(LayoutPoint from, LayoutPoint to);

  // Takes over the view of another canvas over the same layout.
  void lookLike(const GraphCanvas& other) {
    centre_ = other.centre_;
    start_ = other.start_;
    start_zoom_ = other.start_zoom_;
    zoom_ = other.zoom_;
    request_ = other.request_;
  }
  void showMinimap(bool show) { show_minimap_ = show; }

  // True if nothing has moved the view since requestStart().
  bool atStart() const { return zoom_ == start_zoom_ && centre_.x == start_.x && centre_.y == start_.y; }
  float zoom() const { return zoom_; }
  void setZoom(float zoom);
  LayoutPoint centre() const { return centre_; }
  // Numbers of things in the last draw, for tests and for the frame budget.
  struct Drawn {
    std::int32_t nodes = 0;
    std::int32_t edges = 0;
    std::int32_t texts = 0;
  };
  const Drawn& drawn() const { return drawn_; }

 private:
  enum class Request { kNone, kFit, kStart };
  struct View;

  void applyRequests(const CanvasScene& scene, ImVec2 size, float scale);
  void applyStart(const CanvasScene& scene, ImVec2 size, float scale);
  static float startOfWide(const CanvasScene& scene, float width, float height);
  void applyReveal(const CanvasScene& scene, ImVec2 size, float scale);
  void applyZoomTo(const CanvasScene& scene, ImVec2 size, float scale);
  void handleInput(ImVec2 origin, ImVec2 size, float scale, bool hovered, bool active);
  void resolveClick(const View& view, ImVec2 mouse, CanvasResult* result);
  bool drawMinimap(const View& view, ImVec2 low, ImVec2 high, bool hovered);
  void drawMapOfModules(const View& view, ImVec2 shift, ImVec2 scale) const;
  void drawFrames(const View& view, ImVec2 mouse, bool hovered);
  void drawEdges(const View& view, const std::vector<std::int32_t>& selected, const CanvasResult& result);
  void drawEdge(const View& view, std::int32_t edge, ImU32 color, float thickness);
  void drawPortal(const View& view, std::int32_t edge, ImU32 color, float thickness);
  void drawEdgeLabels(const View& view);
  void drawNodes(const View& view, const std::vector<std::int32_t>& selected, std::int32_t hovered);
  void drawFarNodes(const View& view, const std::vector<std::int32_t>& selected);
  void drawNode(const View& view, std::int32_t n, bool selected, bool hovered);
  void drawNodeTexts(const View& view, const CanvasNode& node, ImVec2 low, ImVec2 high, float zoom);
  std::int32_t nodeAt(const View& view, ImVec2 mouse);
  std::int32_t edgeAt(const View& view, ImVec2 mouse);

  LayoutPoint centre_;  // middle of the view, in the scene
  LayoutPoint start_;   // middle of the view as requestStart() put it
  float start_zoom_ = 1;
  float zoom_ = 1;
  Request request_ = Request::kStart;
  LayoutPoint pan_;  // movement in shares of the view, not applied yet
  std::vector<std::int32_t> reveal_;
  SpatialIndex::Box revealed_{0, 0, -1, -1};
  SpatialIndex::Box also_{0, 0, -1, -1};
  std::vector<std::int32_t> zoom_to_;
  std::int32_t traced_ = -1;
  std::int32_t frame_at_ = -1;                  // frame whose head is under the mouse; -1: none
  std::vector<SpatialIndex::Box> frame_boxes_;  // boxes of open modules as drawn
  std::vector<SpatialIndex::Box> texts_taken_;  // boxes where edges cannot be labelled
  Drawn drawn_;
  std::vector<std::int32_t> visible_nodes_;
  std::vector<std::int32_t> visible_edges_;
  bool show_minimap_ = true;
  bool dragging_minimap_ = false;
  bool dragged_ = false;
};

}  // namespace ipex_studio
