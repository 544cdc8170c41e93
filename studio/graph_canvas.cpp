// The canvas's view and its hands: pan, zoom, fit, reveal, hover, click, minimap. Drawing is in graph_canvas_draw.cpp.
#include "studio/graph_canvas.h"

#include <algorithm>
#include <cmath>

#include "studio/graph_canvas_view.h"

namespace ipex_studio {
namespace {

constexpr float kLeastZoom = 0.005F;
constexpr float kMostZoom = 3;
constexpr float kFitMargin = 0.96F;
constexpr float kMapLongSide = 190;
constexpr float kMapLeastSide = 56;
constexpr float kMapMargin = 14;
// More boxes than this say no more on a minimap.
constexpr std::size_t kMostMapNodes = 3000;

bool inside(ImVec2 point, ImVec2 low, ImVec2 high) {
  return point.x >= low.x && point.y >= low.y && point.x < high.x && point.y < high.y;
}

}  // namespace

void GraphCanvas::setZoom(float zoom) { zoom_ = std::clamp(zoom, kLeastZoom, kMostZoom); }

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
  if (request_ == Request::kStart && !scene.nodes.empty()) {
    setZoom(1);
    const CanvasNode& first = scene.nodes.front();
    centre_.x = first.corner.x + first.size.width / 2;
    centre_.y = layout.height * scale < size.y ? layout.height / 2 : size.y / scale / 2;
    // A graph that fits is shown whole, not hung up at its first node.
    if (layout.width * scale < size.x) centre_.x = layout.width / 2;
  }
  if (!scene.nodes.empty()) request_ = Request::kNone;
  if (reveal_.empty()) return;
  SpatialIndex::Box box = {1e30F, 1e30F, -1e30F, -1e30F};
  for (const std::int32_t n : reveal_) {
    if (n < 0 || static_cast<std::size_t>(n) >= scene.nodes.size()) continue;
    const CanvasNode& node = scene.nodes[n];
    // Things far from the first one are not pulled into the same view.
    if (box.left < 1e29F && node.corner.y - box.top > size.y / scale / zoom_ * 0.7F) break;
    box = {std::min(box.left, node.corner.x), std::min(box.top, node.corner.y),
           std::max(box.right, node.corner.x + node.size.width),
           std::max(box.bottom, node.corner.y + node.size.height)};
  }
  reveal_.clear();
  if (box.left > 1e29F) return;
  if (zoom_ < kFullDetail) setZoom(1);
  const float half_x = size.x / scale / zoom_ / 2;
  const float half_y = size.y / scale / zoom_ / 2;
  constexpr float kInner = 0.85F;
  const bool in_view = box.left > centre_.x - half_x * kInner && box.right < centre_.x + half_x * kInner &&
                       box.top > centre_.y - half_y * kInner && box.bottom < centre_.y + half_y * kInner;
  if (!in_view) centre_ = {(box.left + box.right) / 2, (box.top + box.bottom) / 2};
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

bool GraphCanvas::drawMinimap(const View& view, bool hovered) {
  const Layout& layout = view.scene.layout;
  if (view.scene.nodes.empty()) return false;
  const SpatialIndex::Box seen = view.visible();
  const bool whole = seen.left <= 0 && seen.top <= 0 && seen.right >= layout.width && seen.bottom >= layout.height;
  if (whole && !dragging_minimap_) return false;
  const float least = kMapLeastSide * view.scale;
  const float longest = std::min(kMapLongSide * view.scale, view.size.y * 0.45F);
  const float factor = std::min(longest * 0.75F / layout.width, longest / layout.height);
  const ImVec2 box = {std::max(layout.width * factor, least), std::max(layout.height * factor, least)};
  const float margin = kMapMargin * view.scale;
  const ImVec2 low = {view.origin.x + view.size.x - box.x - margin, view.origin.y + view.size.y - box.y - margin};
  const ImVec2 high = {low.x + box.x, low.y + box.y};
  const float pad = 6 * view.scale;
  view.list->AddRectFilled({low.x - pad, low.y - pad}, {high.x + pad, high.y + pad}, withAlpha(view.theme.panel, 0.94F),
                           5);
  view.list->AddRect({low.x - pad, low.y - pad}, {high.x + pad, high.y + pad}, view.theme.line, 5);
  const ImVec2 shift = {low.x + (box.x - layout.width * factor) / 2, low.y + (box.y - layout.height * factor) / 2};
  const std::size_t step = view.scene.nodes.size() / kMostMapNodes + 1;
  for (std::size_t n = 0; n < view.scene.nodes.size(); n += step) {
    const CanvasNode& node = view.scene.nodes[n];
    const ImVec2 at = {shift.x + node.corner.x * factor, shift.y + node.corner.y * factor};
    const ImVec2 to = {at.x + std::max(3.F, node.size.width * factor),
                       at.y + std::max(1.5F, node.size.height * factor)};
    view.list->AddRectFilled(at, to, view.theme.kind(node.group));
  }
  const auto clampX = [&](float x) { return std::clamp(shift.x + x * factor, low.x - pad + 2, high.x + pad - 2); };
  const auto clampY = [&](float y) { return std::clamp(shift.y + y * factor, low.y - pad + 2, high.y + pad - 2); };
  const ImVec2 frame_low = {clampX(seen.left), clampY(seen.top)};
  const ImVec2 frame_high = {clampX(seen.right), clampY(seen.bottom)};
  view.list->AddRectFilled(frame_low, frame_high, withAlpha(view.theme.accent, 0.12F), 2);
  view.list->AddRect(frame_low, frame_high, view.theme.accent, 2);
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const bool over = hovered && inside(mouse, {low.x - pad, low.y - pad}, {high.x + pad, high.y + pad});
  if (over && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) dragging_minimap_ = true;
  if (dragging_minimap_) {
    centre_ = {std::clamp((mouse.x - shift.x) / factor, 0.F, layout.width),
               std::clamp((mouse.y - shift.y) / factor, 0.F, layout.height)};
    dragging_minimap_ = ImGui::IsMouseDown(ImGuiMouseButton_Left);
  }
  return over || dragging_minimap_;
}

CanvasResult GraphCanvas::draw(const char* id, ImVec2 size, const CanvasScene& scene,
                               const std::vector<std::int32_t>& selected, const Theme& theme, const Fonts& fonts,
                               float scale) {
  CanvasResult result;
  drawn_ = {};
  size = {std::max(size.x, 16.F), std::max(size.y, 16.F)};
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton(id, size, ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonMiddle);
  const bool hovered = ImGui::IsItemHovered();
  const bool active = ImGui::IsItemActive();
  const bool pressed = ImGui::IsItemActivated();
  const bool released = ImGui::IsItemDeactivated() && ImGui::IsMouseReleased(ImGuiMouseButton_Left);
  if (pressed) dragged_ = false;
  applyRequests(scene, size, scale);
  handleInput(origin, size, scale, hovered, active);

  View view{scene, theme, fonts, ImGui::GetWindowDrawList(), origin, size, scale, zoom_ * scale, centre_};
  view.list->PushClipRect(origin, {origin.x + size.x, origin.y + size.y}, true);
  scene.node_index.query(view.visible(), &visible_nodes_);
  scene.edge_index.query(view.visible(), &visible_edges_);
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (hovered) result.hovered = nodeAt(view, mouse);
  drawEdges(view, selected, result.hovered);
  for (const std::int32_t n : visible_nodes_) {
    const bool is_selected = std::binary_search(selected.begin(), selected.end(), n);
    drawNode(view, scene.nodes[n], is_selected, n == result.hovered);
  }
  drawEdgeLabels(view);
  const bool over_map = drawMinimap(view, hovered);
  view.list->PopClipRect();
  if (over_map) result.hovered = -1;
  if (released && !dragged_ && !over_map) {
    result.clicked = nodeAt(view, mouse);
    result.clicked_ground = result.clicked < 0;
  }
  return result;
}

}  // namespace ipex_studio
