// Drawing of the canvas: nodes, edges and their labels, by level of detail.
#include <algorithm>
#include <cmath>

#include "studio/canvas/graph_canvas_view.h"
#include "studio/ui/widgets.h"

namespace ipex_studio {
namespace {

constexpr float kStrip = 4;
constexpr float kPad = 13;
constexpr float kRounding = 4;
constexpr float kHatchStep = 9;
// Nodes lower than this on the screen are drawn as cells of a raster, however many there are.
constexpr float kFarHeight = 2.5F;
constexpr float kFarCell = 3;
// Edges shorter than this on the screen are not drawn.
constexpr float kShortEdge = 3;
constexpr float kDash = 5;
// Most visible edges that are drawn as curves, which cost many vertices; more are drawn as lines.
constexpr std::size_t kMaxCurves = 4000;

// Draws diagonal lines inside a box, cut at its sides.
void drawHatch(ImDrawList* list, ImVec2 low, ImVec2 high, float step, ImU32 color) {
  const float height = high.y - low.y;
  for (float x = low.x - height + step; x < high.x; x += step) {
    const float left = std::max(x, low.x);
    const float right = std::min(x + height, high.x);
    if (right > left) list->AddLine({left, high.y - (left - x)}, {right, high.y - (right - x)}, color);
  }
}

void drawDashed(ImDrawList* list, ImVec2 from, ImVec2 to, float dash, ImU32 color, float thickness) {
  const ImVec2 along = {to.x - from.x, to.y - from.y};
  const float length = std::max(std::hypot(along.x, along.y), 1.F);
  for (float at = 0; at < length; at += 2 * dash) {
    const float end = std::min(at + dash, length);
    list->AddLine({from.x + along.x * at / length, from.y + along.y * at / length},
                  {from.x + along.x * end / length, from.y + along.y * end / length}, color, thickness);
  }
}

void drawDashedBox(ImDrawList* list, ImVec2 low, ImVec2 high, float dash, ImU32 color, float thickness) {
  drawDashed(list, low, {high.x, low.y}, dash, color, thickness);
  drawDashed(list, {low.x, high.y}, high, dash, color, thickness);
  drawDashed(list, low, {low.x, high.y}, dash, color, thickness);
  drawDashed(list, {high.x, low.y}, high, dash, color, thickness);
}

struct MarkSign {
  const char* text;
  ImU32 color;
};

MarkSign signOf(CanvasMark mark, const Theme& theme) {
  switch (mark) {
    case CanvasMark::kAdded:
      return {"+", theme.good};
    case CanvasMark::kRemoved:
      return {"\xE2\x88\x92", theme.bad};
    case CanvasMark::kChanged:
      return {"~", theme.warning};
    case CanvasMark::kNone:
      break;
  }
  return {"", 0};
}

ImVec2 textSize(ImFont* font, float pixels, const std::string& text) {
  return font->CalcTextSizeA(pixels, 1e6F, 0, text.data(), text.data() + text.size());
}

}  // namespace

void GraphCanvas::drawNodeTexts(const View& view, const CanvasNode& node, ImVec2 low, ImVec2 high, float zoom) {
  const float detail = view.detail();
  const float title_pixels = view.fonts.text->FontSize * detail;
  const float facts_pixels = view.fonts.small_mono->FontSize * detail;
  float left = low.x + kPad * zoom;
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
  const float facts_left = left;
  if (node.mark != CanvasMark::kNone) {
    const MarkSign sign = signOf(node.mark, view.theme);
    view.list->AddText(view.fonts.text, title_pixels, {std::floor(left - 2 * zoom), std::floor(title_y)}, sign.color,
                       sign.text);
    left += 11 * zoom;
    ++drawn_.texts;
  }
  drawFittedText(view.list, view.fonts.text, title_pixels, {left, title_y}, right - left, view.theme.text, node.title);
  ++drawn_.texts;
  if (!two_lines) return;
  left = facts_left;
  drawFittedText(view.list, view.fonts.small_mono, facts_pixels, {left, low.y + 20 * zoom}, high.x - 9 * zoom - left,
                 view.theme.dim, node.facts);
  ++drawn_.texts;
}

void GraphCanvas::drawNodes(const View& view, const std::vector<std::int32_t>& selected, std::int32_t hovered) {
  const float height = view.scene.nodes.empty() ? 0 : view.scene.nodes.front().size.height * view.zoom;
  if (height < kFarHeight) {
    drawFarNodes(view, selected);
    return;
  }
  for (const std::int32_t n : visible_nodes_) {
    drawNode(view, n, std::binary_search(selected.begin(), selected.end(), n), n == hovered);
  }
}

// Draws nodes too small to tell apart as a raster: a small box for each cell that a node touches, in the colour of the
// first such node, or of the selection if a selected node touches it.
void GraphCanvas::drawFarNodes(const View& view, const std::vector<std::int32_t>& selected) {
  const float cell = kFarCell * view.scale;
  const auto columns = static_cast<std::size_t>(view.size.x / cell) + 1;
  const auto rows = static_cast<std::size_t>(view.size.y / cell) + 1;
  std::vector<ImU32> raster(columns * rows, 0);
  const auto paint = [&](std::int32_t n, ImU32 color, bool over) {
    const CanvasNode& node = view.scene.nodes[n];
    const float left = (view.x(node.corner.x) - view.origin.x) / cell;
    const float top = (view.y(node.corner.y) - view.origin.y) / cell;
    const float right = left + node.size.width * view.zoom / cell;
    if (top < 0 || top >= static_cast<float>(rows) || right < 0 || left >= static_cast<float>(columns)) return;
    ++drawn_.nodes;
    const auto row = static_cast<std::size_t>(top) * columns;
    const auto first = static_cast<std::size_t>(std::max(left, 0.F));
    const auto last = std::min(static_cast<std::size_t>(std::max(right, 0.F)), columns - 1);
    for (std::size_t c = first; c <= last; ++c) {
      if (over || raster[row + c] == 0) raster[row + c] = color;
    }
  };
  for (const std::int32_t n : visible_nodes_) paint(n, view.color(view.scene.nodes[n]), false);
  for (const std::int32_t n : selected) paint(n, view.theme.text, true);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      const ImU32 color = raster[r * columns + c];
      if (color == 0) continue;
      std::size_t end = c + 1;
      while (end < columns && raster[r * columns + end] == color) ++end;
      const ImVec2 low = {view.origin.x + static_cast<float>(c) * cell, view.origin.y + static_cast<float>(r) * cell};
      view.list->AddRectFilled(low, {view.origin.x + static_cast<float>(end) * cell, low.y + cell - 1}, color);
      c = end - 1;
    }
  }
}

void GraphCanvas::drawNode(const View& view, std::int32_t n, bool selected, bool hovered) {
  const CanvasNode& node = view.scene.nodes[n];
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
  const ImU32 kind = view.color(node);
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
        {low.x + strip, high.y - thick}, {std::min(low.x + strip + bar, high.x), high.y},
        node.heat_is_bad ? view.theme.bad : view.theme.warning, rounding,
        bar >= room - rounding ? ImDrawFlags_RoundCornersBottomRight : ImDrawFlags_RoundCornersNone);
  }
  const ImU32 border = selected || hovered ? view.theme.accent : node.folded ? view.theme.dim : view.theme.line;
  const float border_width = selected ? std::max(1.5F, 2 * view.scale) : 1;
  if (node.folded && !selected) {
    drawDashedBox(view.list, low, high, kDash * view.scale, border, border_width);
  } else {
    view.list->AddRect(low, high, border, rounding, 0, border_width);
  }
  drawNodeTexts(view, node, low, high, zoom);
}

// Draws a stub at both ends of an edge, with the name of the other end where there is room.
void GraphCanvas::drawPortal(const View& view, std::int32_t e, ImU32 color, float thickness) {
  const CanvasNode& from = view.scene.nodes[view.scene.edges[e].from];
  const CanvasNode& to = view.scene.nodes[view.scene.edges[e].to];
  const ImVec2 out = view.at({from.corner.x + from.size.width - 18, from.corner.y + from.size.height});
  const ImVec2 in = view.at({to.corner.x + to.size.width - 18, to.corner.y});
  const float stub = 9 * view.zoom;
  view.list->AddLine(out, {out.x, out.y + stub}, color, thickness);
  view.list->AddCircleFilled({out.x, out.y + stub}, 2.5F * view.zoom, color, 8);
  view.list->AddLine({in.x, in.y - stub}, in, color, thickness);
  view.list->AddCircleFilled({in.x, in.y - stub}, 2.5F * view.zoom, color, 8);
  if (view.detail() < kFullDetail) return;
  ImFont* font = view.fonts.small_mono;
  const float pixels = font->FontSize * view.detail();
  const float room = 150 * view.zoom;
  const float gap = 6 * view.zoom;
  drawFittedText(view.list, font, pixels, {out.x + gap, out.y + stub - pixels / 2}, room, view.theme.dim,
                 "\xE2\x86\x93 " + to.title);
  drawFittedText(view.list, font, pixels, {in.x + gap, in.y - stub - pixels / 2}, room, view.theme.dim,
                 "\xE2\x86\x91 " + from.title);
  const auto take = [&](float x, float y, const std::string& title) {
    const float width = textSize(font, pixels, "\xE2\x86\x93 " + title).x;
    texts_taken_.push_back({x + gap, y - pixels / 2, x + gap + std::min(width, room), y + pixels / 2});
  };
  take(out.x, out.y + stub, to.title);
  take(in.x, in.y - stub, from.title);
  drawn_.texts += 2;
}

void GraphCanvas::drawEdge(const View& view, std::int32_t e, ImU32 color, float thickness) {
  const LayoutRoute& route = view.scene.layout.routes[e];
  const bool curves = view.detail() >= kTitleDetail && visible_edges_.size() <= kMaxCurves;
  if (route.count == 0) {
    if (view.detail() >= kTitleDetail) drawPortal(view, e, color, thickness);
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

void GraphCanvas::drawEdges(const View& view, const std::vector<std::int32_t>& selected, const CanvasResult& result) {
  const bool near = view.detail() >= kTitleDetail;
  const float thin = near ? std::max(1.F, 1.2F * view.scale) : 1.F;
  const ImU32 plain = withAlpha(view.theme.faint, near ? 0.85F : 0.5F);
  const ImU32 touched_color = withAlpha(view.theme.accent, 0.8F);
  const std::int32_t pointed =
      result.hovered_edge >= 0 ? view.scene.edges[static_cast<std::size_t>(result.hovered_edge)].value : -1;
  for (const std::int32_t e : visible_edges_) {
    const CanvasEdge& edge = view.scene.edges[e];
    const LayoutRoute& route = view.scene.layout.routes[e];
    if (!near && route.count > 1) {
      const LayoutPoint& a = view.scene.layout.points[route.begin];
      const LayoutPoint& b = view.scene.layout.points[route.begin + route.count - 1];
      if ((std::abs(a.x - b.x) + std::abs(a.y - b.y)) * view.zoom < kShortEdge) continue;
    }
    ++drawn_.edges;
    const bool traced = edge.value >= 0 && (edge.value == traced_ || edge.value == pointed || e == result.hovered_edge);
    if (traced) {
      drawEdge(view, e, view.theme.accent, std::max(2.F, 2.5F * view.zoom));
      continue;
    }
    if (!edge.cost.empty()) {
      drawEdge(view, e, view.theme.warning, std::max(2.F, 3 * view.zoom));
      continue;
    }
    const bool touched = edge.from == result.hovered || edge.to == result.hovered ||
                         std::binary_search(selected.begin(), selected.end(), edge.from) ||
                         std::binary_search(selected.begin(), selected.end(), edge.to);
    drawEdge(view, e, touched ? touched_color : plain, thin);
  }
}

void GraphCanvas::drawEdgeLabels(const View& view) {
  if (view.detail() < kFullDetail) return;
  ImFont* font = view.fonts.small_mono;
  const float pixels = font->FontSize * view.detail();
  // Places taken by labels of one row of gaps, so that later labels avoid them.
  std::vector<SpatialIndex::Box> taken = texts_taken_;
  const auto behind = [&](ImVec2 at) {
    const bool framed = std::any_of(frame_boxes_.begin(), frame_boxes_.end(), [&](const SpatialIndex::Box& box) {
      return at.x >= box.left && at.x < box.right && at.y >= box.top && at.y < box.bottom;
    });
    return withAlpha(framed ? frameFace(view.theme) : view.theme.ground, 0.85F);
  };
  const auto isFree = [&](ImVec2 at, float width) {
    return std::none_of(taken.begin(), taken.end(), [&](const SpatialIndex::Box& box) {
      return at.x < box.right + 4 && at.x + width > box.left - 4 && at.y < box.bottom && at.y + pixels > box.top;
    });
  };
  const auto freeOfEdges = [&](std::int32_t self, ImVec2 at, float width) {
    return std::none_of(visible_edges_.begin(), visible_edges_.end(), [&](std::int32_t e) {
      const LayoutRoute& route = view.scene.layout.routes[e];
      if (e == self || route.count < 2) return false;
      for (std::int32_t p = route.begin + 1; p < route.begin + route.count; ++p) {
        const ImVec2 a = view.at(view.scene.layout.points[p - 1]);
        const ImVec2 b = view.at(view.scene.layout.points[p]);
        if (std::max(a.y, b.y) < at.y || std::min(a.y, b.y) > at.y + pixels) continue;
        if (std::max(a.x, b.x) >= at.x - 2 && std::min(a.x, b.x) <= at.x + width + 2) return true;
      }
      return false;
    });
  };
  for (const bool costs : {true, false}) {
    for (const std::int32_t e : visible_edges_) {
      const CanvasEdge& edge = view.scene.edges[e];
      const LayoutRoute& route = view.scene.layout.routes[e];
      if (edge.cost.empty() == costs || route.count < 2) continue;
      const LayoutPoint& first = view.scene.layout.points[route.begin];
      const LayoutPoint& second = view.scene.layout.points[route.begin + 1];
      // The label stands beside the first stretch, in the gap below the node that makes the value.
      const CanvasNode& from = view.scene.nodes[edge.from];
      const float gap = std::min(second.y, from.corner.y + from.size.height + 34) - first.y;
      const bool steep = std::abs(second.x - first.x) <= 40;
      if (gap * view.zoom < pixels || (!steep && !costs)) continue;
      const float beside = steep ? std::max(first.x, second.x) : (first.x + second.x) / 2;
      for (const std::string* text : {costs ? &edge.cost : &edge.long_label, &edge.label}) {
        if (text->empty()) continue;
        ImVec2 at = {view.x(beside) + 8 * view.zoom, view.y(first.y + gap / 2) - pixels / 2};
        const ImVec2 size = textSize(font, pixels, *text);
        const bool right = costs || (isFree(at, size.x) && freeOfEdges(e, at, size.x));
        if (!right) at.x = view.x(beside) - 8 * view.zoom - size.x;
        if (!right && (!isFree(at, size.x) || !freeOfEdges(e, at, size.x))) continue;
        // The background of the label hides the borders of modules behind it.
        view.list->AddRectFilled({at.x - 3, at.y}, {at.x + size.x + 3, at.y + size.y},
                                 behind({at.x + size.x / 2, at.y + size.y / 2}), 3);
        drawFittedText(view.list, font, pixels, at, size.x + 1, costs ? view.theme.warning : view.theme.dim, *text);
        taken.push_back({at.x, at.y, at.x + size.x, at.y + pixels});
        ++drawn_.texts;
        break;
      }
    }
  }
}

// Draws open modules: a quiet box behind their nodes, whose head folds them.
void GraphCanvas::drawFrames(const View& view, ImVec2 mouse, bool hovered) {
  frame_at_ = -1;
  frame_boxes_.clear();
  texts_taken_.clear();
  if (view.detail() < kTitleDetail) return;
  const ImU32 face = frameFace(view.theme);
  ImFont* font = view.fonts.small_mono;
  const float pixels = font->FontSize * view.detail();
  const ImVec2 view_end = {view.origin.x + view.size.x, view.origin.y + view.size.y};
  for (std::size_t f = 0; f < view.scene.frames.size(); ++f) {
    const CanvasFrame& frame = view.scene.frames[f];
    const ImVec2 low = view.at(frame.low);
    const ImVec2 high = view.at(frame.high);
    if (low.x > view_end.x || low.y > view_end.y || high.x < view.origin.x || high.y < view.origin.y) continue;
    view.list->AddRectFilled(low, high, face, 6 * view.zoom);
    view.list->AddRect(low, high, frameLine(view.theme), 6 * view.zoom);
    if (view.detail() < kFullDetail) continue;
    // A handle with a minus, as in trees of folders, then the name.
    const ImVec2 handle = {low.x + 5 * view.zoom, low.y + 2 * view.zoom};
    const ImVec2 at = {handle.x + pixels + 4 * view.zoom, low.y + 1.5F * view.zoom};
    const float width = std::min(textSize(font, pixels, frame.title).x, high.x - at.x - 6 * view.zoom);
    const bool over = hovered && mouse.x >= handle.x && mouse.x < at.x + width && mouse.y >= low.y &&
                      mouse.y < low.y + kFrameHead * view.zoom;
    frame_boxes_.push_back({low.x, low.y, high.x, high.y});
    texts_taken_.push_back({handle.x, at.y, at.x + width, at.y + pixels});
    if (over) frame_at_ = static_cast<std::int32_t>(f);
    const ImU32 ink = over ? view.theme.accent : view.theme.dim;
    const ImVec2 middle = {handle.x + pixels / 2, handle.y + pixels / 2};
    view.list->AddRectFilled(handle, {handle.x + pixels, handle.y + pixels}, ink, 2 * view.zoom);
    view.list->AddLine({middle.x - pixels / 4, middle.y}, {middle.x + pixels / 4, middle.y}, face, 1.5F * view.zoom);
    drawFittedText(view.list, font, pixels, at, width + 1, ink, frame.title);
    ++drawn_.texts;
  }
  if (frame_at_ >= 0) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
}

// Draws modules behind the nodes of the map, with the names that have room.
void GraphCanvas::drawMapOfModules(const View& view, ImVec2 shift, ImVec2 scale) const {
  ImFont* font = view.fonts.small_mono;
  for (const CanvasFrame& district : view.scene.districts) {
    const ImVec2 low = {shift.x + district.low.x * scale.x - 2, shift.y + district.low.y * scale.y - 1};
    const ImVec2 high = {shift.x + district.high.x * scale.x + 2, shift.y + district.high.y * scale.y + 1};
    view.list->AddRectFilled(low, high, withAlpha(view.theme.dim, 0.22F), 2);
    view.list->AddRect(low, high, withAlpha(view.theme.dim, 0.6F), 2);
    const float width = high.x - low.x - 4;
    if (high.y - low.y > 2 * font->FontSize && textSize(font, font->FontSize, district.title).x <= width)
      view.list->AddText(font, font->FontSize, {std::floor(low.x + 2), std::floor(high.y - font->FontSize - 1)},
                         view.theme.dim, district.title.c_str());
  }
}

}  // namespace ipex_studio
