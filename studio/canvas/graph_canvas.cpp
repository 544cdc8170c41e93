// View and input of the canvas: pan, zoom, fit, reveal, hover, click and minimap. graph_canvas_draw.cpp draws.
#include "studio/canvas/graph_canvas.h"

#include <algorithm>
#include <cmath>

#include "studio/canvas/graph_canvas_view.h"

namespace ipex_studio {
namespace {

constexpr float kMinZoom = 0.005F;
constexpr float kMaxZoom = 3;
constexpr float kFitMargin = 0.96F;
constexpr float kMinStart = 0.72F;  // smallest zoom that keeps names and facts of nodes readable
// Width of the minimap's own strip, where it hides nothing: at the right of tall graphs, below wide ones.
constexpr float kMapStrip = 72;
constexpr float kMapPad = 8;
constexpr float kMaxMapScale = 0.12F;
// Largest distance of the mouse from an edge that it hits, in pixels.
constexpr float kEdgeReach = 5;
// Most boxes drawn on a minimap; more would not be told apart.
constexpr std::size_t kMaxMapNodes = 3000;

bool inside(ImVec2 point, ImVec2 low, ImVec2 high) {
  return point.x >= low.x && point.y >= low.y && point.x < high.x && point.y < high.y;
}

constexpr SpatialIndex::Box kNowhere = {1e30F, 1e30F, -1e30F, -1e30F};

SpatialIndex::Box including(const SpatialIndex::Box& box, const CanvasNode& node) {
  return {std::min(box.left, node.corner.x), std::min(box.top, node.corner.y),
          std::max(box.right, node.corner.x + node.size.width), std::max(box.bottom, node.corner.y + node.size.height)};
}

// True if the minimap is at the right; it is at the bottom for graphs that are wide and fit the view's height at 100 %.
bool mapAtRight(const Layout& layout, ImVec2 size, float scale) {
  return layout.height >= layout.width || layout.height * scale > size.y;
}

float distanceToSegment(ImVec2 p, ImVec2 a, ImVec2 b) {
  const ImVec2 along = {b.x - a.x, b.y - a.y};
  const float length = along.x * along.x + along.y * along.y;
  const float t = length > 0 ? std::clamp(((p.x - a.x) * along.x + (p.y - a.y) * along.y) / length, 0.F, 1.F) : 0;
  return std::hypot(p.x - a.x - t * along.x, p.y - a.y - t * along.y);
}

}  // namespace

void GraphCanvas::setZoom(float zoom) { zoom_ = std::clamp(zoom, kMinZoom, kMaxZoom); }

void GraphCanvas::follow(LayoutPoint from, LayoutPoint to) {
  centre_.x += to.x - from.x;
  centre_.y += to.y - from.y;
}

void GraphCanvas::applyRequests(const CanvasScene& scene, ImVec2 size, float scale) {
  const Layout& layout = scene.layout;
  if (request_ == Request::kFit && layout.width > 0) {
    setZoom(std::min({1.F, size.x / scale / layout.width * kFitMargin, size.y / scale / layout.height * kFitMargin}));
    centre_ = {layout.width / 2, layout.height / 2};
  }
  if (request_ == Request::kStart && !scene.nodes.empty()) applyStart(scene, size, scale);
  if (!scene.nodes.empty()) request_ = Request::kNone;
  revealed_ = {0, 0, -1, -1};
  if (!reveal_.empty()) applyReveal(scene, size, scale);
  also_ = {0, 0, -1, -1};
  if (!zoom_to_.empty()) applyZoomTo(scene, size, scale);
}

// Middle (x) of a view of this size over a graph with a wider top: at its first node if that has company, else where
// most of the top stands.
float GraphCanvas::startOfWide(const CanvasScene& scene, float width, float height) {
  constexpr std::ptrdiff_t kCompany = 4;
  const CanvasNode& first = scene.nodes.front();
  const float at_first = first.corner.x + first.size.width / 2;
  std::vector<float> middles;
  for (const CanvasNode& node : scene.nodes) {
    if (node.corner.y < height * 0.9F) middles.push_back(node.corner.x + node.size.width / 2);
  }
  const auto near =
      std::count_if(middles.begin(), middles.end(), [&](float x) { return std::abs(x - at_first) < width * 0.4F; });
  if (near >= kCompany) return at_first;
  std::sort(middles.begin(), middles.end());
  std::size_t most = 0, best_begin = 0, best_end = 0;
  for (std::size_t begin = 0, end = 0; begin < middles.size(); ++begin) {
    while (end < middles.size() && middles[end] - middles[begin] < width * 0.8F) ++end;
    if (end - begin <= most) continue;
    most = end - begin;
    best_begin = begin;
    best_end = end - 1;
  }
  return most == 0 ? at_first : (middles[best_begin] + middles[best_end]) / 2;
}

void GraphCanvas::applyStart(const CanvasScene& scene, ImVec2 size, float scale) {
  const Layout& layout = scene.layout;
  const bool at_right = mapAtRight(layout, size, scale);
  const float room = (size.x / scale - (at_right ? kMapStrip : 0)) * kFitMargin;
  const float high = size.y / scale - (at_right ? 0 : kMapStrip);
  // A graph that fits into the view is shown whole, wherever its first node is.
  SpatialIndex::Box box = kNowhere;
  for (setZoom(1); layout.width * zoom_ > room; setZoom(zoom_ * 0.9F)) {
    box = kNowhere;
    for (const CanvasNode& node : scene.nodes) {
      if (node.corner.y < high / zoom_ * 0.9F) box = including(box, node);
    }
    if ((box.right - box.left) * zoom_ <= room || zoom_ * 0.9F < kMinStart) break;
  }
  if (layout.width * zoom_ <= room) box = {0, 0, layout.width, layout.height};
  centre_.x = (box.right - box.left) * zoom_ <= room ? (box.left + box.right) / 2
                                                     : startOfWide(scene, room / zoom_, high / zoom_);
  // A small graph stands in the middle.
  centre_.y = std::min(layout.height, high / zoom_) / 2;
  start_ = centre_;
  start_zoom_ = zoom_;
}

void GraphCanvas::applyReveal(const CanvasScene& scene, ImVec2 size, float scale) {
  SpatialIndex::Box box = kNowhere;
  for (const std::int32_t n : reveal_) {
    if (n < 0 || static_cast<std::size_t>(n) >= scene.nodes.size()) continue;
    const CanvasNode& node = scene.nodes[n];
    // Nodes far from the first one are not brought into the same view.
    if (box.left < 1e29F && node.corner.y - box.top > size.y / scale / zoom_ * 0.7F) break;
    box = including(box, node);
  }
  reveal_.clear();
  if (box.left > 1e29F) return;
  revealed_ = box;
  if (zoom_ < kFullDetail) setZoom(1);
  if (also_.right > also_.left) {
    const SpatialIndex::Box both = {std::min(box.left, also_.left), std::min(box.top, also_.top),
                                    std::max(box.right, also_.right), std::max(box.bottom, also_.bottom)};
    constexpr float kShare = 0.84F;  // of the view
    const float fits = kShare * std::min(size.x / (both.right - both.left), size.y / (both.bottom - both.top)) / scale;
    if (fits >= kTitleDetail) {
      box = both;
      if (fits < zoom_) setZoom(fits);
    }
  }
  const float half_x = size.x / scale / zoom_ / 2;
  const float half_y = size.y / scale / zoom_ / 2;
  constexpr float kInner = 0.85F;
  const bool in_view = box.left > centre_.x - half_x * kInner && box.right < centre_.x + half_x * kInner &&
                       box.top > centre_.y - half_y * kInner && box.bottom < centre_.y + half_y * kInner;
  if (!in_view) centre_ = {(box.left + box.right) / 2, (box.top + box.bottom) / 2};
}

void GraphCanvas::applyZoomTo(const CanvasScene& scene, ImVec2 size, float scale) {
  SpatialIndex::Box box = kNowhere;
  for (const std::int32_t n : zoom_to_) {
    if (n >= 0 && static_cast<std::size_t>(n) < scene.nodes.size()) box = including(box, scene.nodes[n]);
  }
  zoom_to_.clear();
  if (box.left > 1e29F) return;
  constexpr float kAround = 80;
  setZoom(std::min(
      {1.5F, size.x / scale / (box.right - box.left + kAround), size.y / scale / (box.bottom - box.top + kAround)}));
  centre_ = {(box.left + box.right) / 2, (box.top + box.bottom) / 2};
}

void GraphCanvas::handleInput(ImVec2 origin, ImVec2 size, float scale, bool hovered, bool active) {
  const ImGuiIO& io = ImGui::GetIO();
  const float pixels = zoom_ * scale;
  if (active && !dragging_minimap_ && ImGui::IsMouseDragging(ImGuiMouseButton_Left, 3)) {
    centre_.x -= io.MouseDelta.x / pixels;
    centre_.y -= io.MouseDelta.y / pixels;
    dragged_ = true;
  }
  if (hovered && ImGui::IsMouseDragging(ImGuiMouseButton_Middle, 0)) {
    centre_.x -= io.MouseDelta.x / pixels;
    centre_.y -= io.MouseDelta.y / pixels;
  }
  if (!hovered || io.MouseWheel == 0) return;
  if (io.KeyShift) {
    centre_.x -= io.MouseWheel * 60 / zoom_;
    return;
  }
  if (!io.KeyCtrl) {
    centre_.y -= io.MouseWheel * 60 / zoom_;
    centre_.x -= io.MouseWheelH * 60 / zoom_;
    return;
  }
  // The point under the mouse stays where it is.
  const ImVec2 from_middle = {io.MousePos.x - origin.x - size.x / 2, io.MousePos.y - origin.y - size.y / 2};
  const float before = zoom_;
  setZoom(zoom_ * std::pow(1.15F, io.MouseWheel));
  const float moved = 1 / (before * scale) - 1 / (zoom_ * scale);
  centre_.x += from_middle.x * moved;
  centre_.y += from_middle.y * moved;
}

std::int32_t GraphCanvas::nodeAt(const View& view, ImVec2 mouse) {
  const LayoutPoint point = view.toScene(mouse);
  for (const std::int32_t n : visible_nodes_) {
    const CanvasNode& node = view.scene.nodes[n];
    if (inside({point.x, point.y}, {node.corner.x, node.corner.y},
               {node.corner.x + node.size.width, node.corner.y + node.size.height})) {
      return n;
    }
  }
  return -1;
}

std::int32_t GraphCanvas::edgeAt(const View& view, ImVec2 mouse) {
  if (view.detail() < kTitleDetail) return -1;
  for (const std::int32_t e : visible_edges_) {
    const LayoutRoute& route = view.scene.layout.routes[e];
    for (std::int32_t p = 1; p < route.count; ++p) {
      const LayoutPoint* points = view.scene.layout.points.data() + route.begin;
      if (distanceToSegment(mouse, view.at(points[p - 1]), view.at(points[p])) <= kEdgeReach * view.scale) return e;
    }
  }
  return -1;
}

bool GraphCanvas::drawMinimap(const View& view, ImVec2 low, ImVec2 high, bool hovered) {
  const Layout& layout = view.scene.layout;
  const float pad = kMapPad * view.scale;
  const ImVec2 room = {high.x - low.x - 2 * pad, high.y - low.y - 2 * pad};
  // Each direction has its own scale; with one for both, a long chain would shrink to a line.
  const float most = kMaxMapScale * view.scale;
  const float scale_x = std::min(most, room.x / layout.width);
  const float scale_y = std::min(most, room.y / layout.height);
  const ImVec2 shift = {low.x + pad + (room.x - layout.width * scale_x) / 2,
                        low.y + pad + (room.y - layout.height * scale_y) / 2};
  view.list->AddRectFilled(low, high, mixColors(view.theme.ground, view.theme.panel, 0.6F));
  const bool right = high.y - low.y > high.x - low.x;
  view.list->AddLine(low, right ? ImVec2(low.x, high.y) : ImVec2(high.x, low.y), view.theme.line);
  drawMapOfModules(view, shift, {scale_x, scale_y});
  const std::size_t step = view.scene.nodes.size() / kMaxMapNodes + 1;
  for (std::size_t n = 0; n < view.scene.nodes.size(); n += step) {
    const CanvasNode& node = view.scene.nodes[n];
    const ImVec2 at = {shift.x + node.corner.x * scale_x, shift.y + node.corner.y * scale_y};
    view.list->AddRectFilled(
        at, {at.x + std::max(3.F, node.size.width * scale_x), at.y + std::max(1.5F, node.size.height * scale_y)},
        view.color(node));
  }
  const SpatialIndex::Box seen = view.visible();
  const auto clampX = [&](float x) { return std::clamp(shift.x + x * scale_x, low.x + 2, high.x - 2); };
  const auto clampY = [&](float y) { return std::clamp(shift.y + y * scale_y, low.y + 2, high.y - 2); };
  const ImVec2 frame_low = {clampX(seen.left), clampY(seen.top)};
  const ImVec2 frame_high = {clampX(seen.right), clampY(seen.bottom)};
  view.list->AddRectFilled(frame_low, frame_high, withAlpha(view.theme.accent, 0.12F), 2);
  view.list->AddRect(frame_low, frame_high, view.theme.accent, 2);
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const bool over = hovered && inside(mouse, low, high);
  if (over && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) dragging_minimap_ = true;
  if (dragging_minimap_) {
    centre_ = {std::clamp((mouse.x - shift.x) / scale_x, 0.F, layout.width),
               std::clamp((mouse.y - shift.y) / scale_y, 0.F, layout.height)};
    dragging_minimap_ = ImGui::IsMouseDown(ImGuiMouseButton_Left);
  }
  return over || dragging_minimap_;
}

void GraphCanvas::resolveClick(const View& view, ImVec2 mouse, CanvasResult* result) {
  result->clicked = nodeAt(view, mouse);
  if (result->clicked >= 0) {
    if (ImGui::GetIO().MouseClickedLastCount[ImGuiMouseButton_Left] == 2) result->double_clicked = result->clicked;
    return;
  }
  result->clicked_frame = frame_at_;
  if (result->clicked_frame < 0) result->clicked_edge = edgeAt(view, mouse);
  result->clicked_ground = result->clicked_frame < 0 && result->clicked_edge < 0;
}

CanvasResult GraphCanvas::draw(const char* id, ImVec2 size, const CanvasScene& scene,
                               const std::vector<std::int32_t>& selected, const Theme& theme, const Fonts& fonts,
                               float scale) {
  CanvasResult result;
  drawn_ = {};
  size = {std::max(size.x, 16.F), std::max(size.y, 16.F)};
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const ImVec2 end = {origin.x + size.x, origin.y + size.y};
  ImGui::InvisibleButton(id, size, ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonMiddle);
  const bool hovered = ImGui::IsItemHovered();
  const bool active = ImGui::IsItemActive();
  const bool pressed = ImGui::IsItemActivated();
  const bool released = ImGui::IsItemDeactivated() && ImGui::IsMouseReleased(ImGuiMouseButton_Left);
  if (pressed) dragged_ = false;
  applyRequests(scene, size, scale);

  const Layout& layout = scene.layout;
  const float pixels = zoom_ * scale;
  const bool whole = layout.width * pixels <= size.x && layout.height * pixels <= size.y;
  const bool tall = mapAtRight(layout, size, scale);
  const float strip = kMapStrip * scale;
  const bool map = show_minimap_ && !whole && !scene.nodes.empty() && std::min(size.x, size.y) > 3 * strip;
  if (map) (tall ? size.x : size.y) -= strip;
  handleInput(origin, size, scale, hovered, active);
  centre_ = {centre_.x + pan_.x * size.x / (zoom_ * scale), centre_.y + pan_.y * size.y / (zoom_ * scale)};
  pan_ = {};

  View view{scene, theme, fonts, ImGui::GetWindowDrawList(), origin, size, scale, zoom_ * scale, centre_};
  const ImVec2 corner = {origin.x + size.x, origin.y + size.y};
  view.list->PushClipRect(origin, corner, true);
  scene.node_index.query(view.visible(), &visible_nodes_);
  scene.edge_index.query(view.visible(), &visible_edges_);
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const bool over_view = hovered && inside(mouse, origin, corner);
  if (over_view) {
    result.hovered = nodeAt(view, mouse);
    if (result.hovered < 0) result.hovered_edge = edgeAt(view, mouse);
  }
  drawFrames(view, mouse, over_view && result.hovered < 0);
  drawEdges(view, selected, result);
  drawNodes(view, selected, result.hovered);
  drawEdgeLabels(view);
  view.list->PopClipRect();
  const ImVec2 map_low = {tall ? corner.x : origin.x, tall ? origin.y : corner.y};
  if (map) {
    view.list->PushClipRect(map_low, end, true);
    drawMinimap(view, map_low, end, hovered);
    view.list->PopClipRect();
  }
  if (released && !dragged_ && over_view) resolveClick(view, mouse, &result);
  if (over_view && ImGui::IsMouseReleased(ImGuiMouseButton_Right)) result.menu = result.hovered;
  return result;
}

}  // namespace ipex_studio
