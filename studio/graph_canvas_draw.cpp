// What the canvas puts on the screen: nodes, edges and their labels, by level of detail.
#include <algorithm>
#include <cmath>

#include "studio/graph_canvas_view.h"

namespace ipex_studio {
namespace {

constexpr float kStrip = 4;
constexpr float kPad = 13;
constexpr float kRounding = 4;
constexpr float kHatchStep = 9;
// Curves cost many vertices: beyond so many visible edges, lines.
constexpr std::size_t kMostCurves = 4000;

// Diagonal lines inside a box, cut at its sides.
void drawHatch(ImDrawList* list, ImVec2 low, ImVec2 high, float step, ImU32 color) {
  const float height = high.y - low.y;
  for (float x = low.x - height + step; x < high.x; x += step) {
    const float left = std::max(x, low.x);
    const float right = std::min(x + height, high.x);
    if (right > left) list->AddLine({left, high.y - (left - x)}, {right, high.y - (right - x)}, color);
  }
}

ImVec2 textSize(ImFont* font, float pixels, const std::string& text) {
  return font->CalcTextSizeA(pixels, 1e6F, 0, text.data(), text.data() + text.size());
}

}  // namespace

float drawFittedText(ImDrawList* list, ImFont* font, float pixels, ImVec2 at, float width, ImU32 color,
                     const std::string& text) {
  if (width <= 0 || text.empty()) return 0;
  at = {std::floor(at.x), std::floor(at.y)};
  const char* begin = text.data();
  const char* end = begin + text.size();
  const ImVec2 full = font->CalcTextSizeA(pixels, 1e6F, 0, begin, end);
  if (full.x <= width) {
    list->AddText(font, pixels, at, color, begin, end);
    return full.x;
  }
  static constexpr char kDots[] = "\xE2\x80\xA6";
  const float dots = font->CalcTextSizeA(pixels, 1e6F, 0, kDots).x;
  const char* rest = nullptr;
  const float used = font->CalcTextSizeA(pixels, std::max(width - dots, 1.F), 0, begin, end, &rest).x;
  if (rest == nullptr || rest <= begin) return 0;
  list->AddText(font, pixels, at, color, begin, rest);
  list->AddText(font, pixels, {at.x + used, at.y}, color, kDots);
  return used + dots;
}

void GraphCanvas::drawNodeTexts(const View& view, const CanvasNode& node, ImVec2 low, ImVec2 high, float zoom) {
  const float detail = view.detail();
  const float title_pixels = view.fonts.text->FontSize * detail;
  const float facts_pixels = view.fonts.small_mono->FontSize * detail;
  const float left = low.x + kPad * zoom;
  float right = high.x - 9 * zoom;
  const bool two_lines = detail >= kFullDetail && !node.facts.empty();
  const float title_y = two_lines ? low.y + 3.5F * zoom : (low.y + high.y - title_pixels) / 2;
  if (detail >= kFullDetail && !node.corner_text.empty()) {
    const ImVec2 size = textSize(view.fonts.text, title_pixels, node.corner_text);
    drawFittedText(view.list, view.fonts.text, title_pixels, {right - size.x, title_y}, size.x + 1, view.theme.text,
                   node.corner_text);
    right -= size.x + 10 * zoom;
    ++drawn_.texts;
  }
  drawFittedText(view.list, view.fonts.text, title_pixels, {left, title_y}, right - left, view.theme.text, node.title);
  ++drawn_.texts;
  if (!two_lines) return;
  drawFittedText(view.list, view.fonts.small_mono, facts_pixels, {left, low.y + 20 * zoom}, high.x - 9 * zoom - left,
                 view.theme.dim, node.facts);
  ++drawn_.texts;
}

void GraphCanvas::drawNode(const View& view, const CanvasNode& node, bool selected, bool hovered) {
  const SpatialIndex::Box seen = view.visible();
  if (node.corner.x > seen.right || node.corner.y > seen.bottom || node.corner.x + node.size.width < seen.left ||
      node.corner.y + node.size.height < seen.top) {
    return;
  }
  ++drawn_.nodes;
  const float zoom = view.zoom;
  const ImVec2 low = {std::floor(view.x(node.corner.x)), std::floor(view.y(node.corner.y))};
  const ImVec2 high = {std::max(low.x + 2, std::floor(low.x + node.size.width * zoom)),
                       std::max(low.y + 2, std::floor(low.y + node.size.height * zoom))};
  const ImU32 kind = view.theme.kind(node.group);
  if (view.detail() < kTitleDetail) {
    view.list->AddRectFilled(
        low, high, selected ? view.theme.text : mixColors(view.theme.ground, kind, 0.55F + 0.45F * node.heat));
    return;
  }
  const float rounding = view.detail() >= kFullDetail ? kRounding * zoom : 0;
  const float strip = std::max(2.F, std::floor(kStrip * zoom));
  const ImU32 face = selected ? view.theme.selection : view.theme.node;
  view.list->AddRectFilled(low, high, face, rounding);
  if (node.hatched) {
    drawHatch(view.list, {low.x + strip, low.y + 1}, {high.x - 1, high.y - 1}, kHatchStep * zoom,
              withAlpha(view.theme.faint, 0.45F));
  }
  view.list->AddRectFilled(low, {low.x + strip, high.y}, kind, rounding, ImDrawFlags_RoundCornersLeft);
  if (node.heat > 0) {
    const float room = high.x - low.x - strip;
    const float bar = std::max(2 * zoom, room * std::min(node.heat, 1.F));
    const float thick = std::max(2.F, std::floor(3 * zoom));
    view.list->AddRectFilled(
        {low.x + strip, high.y - thick}, {std::min(low.x + strip + bar, high.x), high.y}, view.theme.warning, rounding,
        bar >= room - rounding ? ImDrawFlags_RoundCornersBottomRight : ImDrawFlags_RoundCornersNone);
  }
  const ImU32 border = selected || hovered ? view.theme.accent : view.theme.line;
  view.list->AddRect(low, high, border, rounding, 0, selected ? std::max(1.5F, 2 * view.scale) : 1);
  drawNodeTexts(view, node, low, high, zoom);
}

void GraphCanvas::drawEdge(const View& view, std::int32_t e, ImU32 color, float thickness) {
  const LayoutRoute& route = view.scene.layout.routes[e];
  const bool curves = view.detail() >= kTitleDetail && visible_edges_.size() <= kMostCurves;
  if (route.count == 0) {
    // A portal: a stub at both ends.
    const CanvasNode& from = view.scene.nodes[view.scene.edges[e].from];
    const CanvasNode& to = view.scene.nodes[view.scene.edges[e].to];
    const ImVec2 out = view.at({from.corner.x + from.size.width - 18, from.corner.y + from.size.height});
    const ImVec2 in = view.at({to.corner.x + to.size.width - 18, to.corner.y});
    const float stub = 9 * view.zoom;
    view.list->AddLine(out, {out.x, out.y + stub}, color, thickness);
    view.list->AddCircleFilled({out.x, out.y + stub}, 2.5F * view.zoom, color, 8);
    view.list->AddLine({in.x, in.y - stub}, in, color, thickness);
    view.list->AddCircleFilled({in.x, in.y - stub}, 2.5F * view.zoom, color, 8);
    return;
  }
  const LayoutPoint* points = view.scene.layout.points.data() + route.begin;
  for (std::int32_t p = 1; p < route.count; ++p) {
    const ImVec2 a = view.at(points[p - 1]);
    const ImVec2 b = view.at(points[p]);
    if (std::max(a.y, b.y) < view.origin.y || std::min(a.y, b.y) > view.origin.y + view.size.y) continue;
    if (!curves || std::abs(a.x - b.x) < 1) {
      view.list->AddLine(a, b, color, thickness);
      continue;
    }
    const float bend = (b.y - a.y) * 0.5F;
    view.list->AddBezierCubic(a, {a.x, a.y + bend}, {b.x, b.y - bend}, b, color, thickness,
                              std::abs(b.x - a.x) > 40 ? 20 : 10);
  }
}

void GraphCanvas::drawEdges(const View& view, const std::vector<std::int32_t>& selected, std::int32_t hovered) {
  const float thin = view.detail() >= kTitleDetail ? std::max(1.F, 1.2F * view.scale) : 1.F;
  const ImU32 plain =
      view.detail() >= kTitleDetail ? withAlpha(view.theme.faint, 0.85F) : withAlpha(view.theme.faint, 0.5F);
  for (const std::int32_t e : visible_edges_) {
    const CanvasEdge& edge = view.scene.edges[e];
    ++drawn_.edges;
    const bool touched = edge.from == hovered || edge.to == hovered ||
                         std::binary_search(selected.begin(), selected.end(), edge.from) ||
                         std::binary_search(selected.begin(), selected.end(), edge.to);
    if (!edge.cost.empty()) {
      drawEdge(view, e, view.theme.warning, std::max(2.F, 3 * view.zoom));
    } else {
      drawEdge(view, e, touched ? withAlpha(view.theme.accent, 0.8F) : plain, thin);
    }
  }
}

void GraphCanvas::drawEdgeLabels(const View& view) {
  if (view.detail() < kFullDetail) return;
  const float pixels = view.fonts.small_mono->FontSize * view.detail();
  for (const std::int32_t e : visible_edges_) {
    const CanvasEdge& edge = view.scene.edges[e];
    const LayoutRoute& route = view.scene.layout.routes[e];
    const std::string& text = edge.cost.empty() ? edge.label : edge.cost;
    if (text.empty() || route.count < 2) continue;
    const LayoutPoint& first = view.scene.layout.points[route.begin];
    const LayoutPoint& second = view.scene.layout.points[route.begin + 1];
    // Beside the first stretch, in the gap below the node that makes the value.
    const CanvasNode& from = view.scene.nodes[edge.from];
    const float gap = std::min(second.y, from.corner.y + from.size.height + 30) - first.y;
    const bool steep = std::abs(second.x - first.x) <= 40;
    if (gap * view.zoom < pixels || (!steep && edge.cost.empty())) continue;
    const float beside = steep ? std::max(first.x, second.x) : (first.x + second.x) / 2;
    const ImVec2 at = {view.x(beside) + 8 * view.zoom, view.y(first.y + gap / 2) - pixels / 2};
    const ImVec2 size = textSize(view.fonts.small_mono, pixels, text);
    if (!edge.cost.empty()) {
      view.list->AddRectFilled({at.x - 3, at.y}, {at.x + size.x + 3, at.y + size.y},
                               withAlpha(view.theme.ground, 0.85F), 3);
    }
    drawFittedText(view.list, view.fonts.small_mono, pixels, at, size.x + 1,
                   edge.cost.empty() ? view.theme.dim : view.theme.warning, text);
    ++drawn_.texts;
  }
}

}  // namespace ipex_studio
