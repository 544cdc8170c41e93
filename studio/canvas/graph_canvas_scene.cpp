// Scenes of the canvas and their spatial index.
#include <algorithm>
#include <cmath>

#include "studio/canvas/graph_canvas.h"

namespace ipex_studio {
namespace {

constexpr float kCell = 384;
constexpr std::int32_t kMaxCells = 1 << 18;

}  // namespace

SpatialIndex::Cells SpatialIndex::cellsOf(const Box& box) const {
  const auto cell = [](float at, std::int32_t count) {
    return static_cast<std::int32_t>(std::clamp(std::floor(at / kCell), 0.F, static_cast<float>(count - 1)));
  };
  return {cell(box.left, columns_), cell(box.top, rows_), cell(box.right, columns_), cell(box.bottom, rows_)};
}

// Builds the grid. Cells beyond the limit are joined with the last row, which is correct but slower.
void SpatialIndex::build(const std::vector<Box>& boxes, float width, float height) {
  columns_ = std::clamp(static_cast<std::int32_t>(width / kCell) + 1, 1, 512);
  rows_ = std::clamp(static_cast<std::int32_t>(height / kCell) + 1, 1, kMaxCells / columns_);
  begin_.assign(static_cast<std::size_t>(columns_) * static_cast<std::size_t>(rows_) + 1, 0);
  const auto forEachCell = [&](const Box& box, auto&& visit) {
    const Cells cells = cellsOf(box);
    for (std::int32_t r = cells.top; r <= cells.bottom; ++r) {
      for (std::int32_t c = cells.left; c <= cells.right; ++c) visit(r * columns_ + c);
    }
  };
  for (const Box& box : boxes) forEachCell(box, [&](std::int32_t cell) { ++begin_[cell + 1]; });
  for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  items_.resize(static_cast<std::size_t>(begin_.back()));
  std::vector<std::int32_t> cursor(begin_.begin(), begin_.end() - 1);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    forEachCell(boxes[i], [&](std::int32_t cell) { items_[cursor[cell]++] = static_cast<std::int32_t>(i); });
  }
}

void SpatialIndex::query(const Box& view, std::vector<std::int32_t>* found) const {
  found->clear();
  if (items_.empty()) return;
  const Cells cells = cellsOf(view);
  for (std::int32_t r = cells.top; r <= cells.bottom; ++r) {
    const std::int32_t row = r * columns_;
    found->insert(found->end(), items_.begin() + begin_[row + cells.left],
                  items_.begin() + begin_[row + cells.right + 1]);
  }
  std::sort(found->begin(), found->end());
  found->erase(std::unique(found->begin(), found->end()), found->end());
}

void CanvasScene::finish(Layout result) {
  layout = std::move(result);
  for (std::size_t n = 0; n < nodes.size(); ++n) nodes[n].corner = layout.corners[n];
  index();
}

void CanvasScene::index() {
  std::vector<SpatialIndex::Box> boxes(nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const LayoutPoint& corner = nodes[n].corner;
    boxes[n] = {corner.x, corner.y, corner.x + nodes[n].size.width, corner.y + nodes[n].size.height};
  }
  node_index.build(boxes, layout.width, layout.height);
  boxes.resize(edges.size());
  edges_of_begin.assign(nodes.size() + 1, 0);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const LayoutRoute& route = layout.routes[e];
    const LayoutPoint& from = nodes[edges[e].from].corner;
    SpatialIndex::Box box = {from.x, from.y, from.x, from.y};
    for (std::int32_t p = route.begin; p < route.begin + route.count; ++p) {
      const LayoutPoint& point = layout.points[p];
      box = {std::min(box.left, point.x), std::min(box.top, point.y), std::max(box.right, point.x),
             std::max(box.bottom, point.y)};
    }
    boxes[e] = box;
    ++edges_of_begin[edges[e].from + 1];
    ++edges_of_begin[edges[e].to + 1];
  }
  edge_index.build(boxes, layout.width, layout.height);
  for (std::size_t n = 0; n < nodes.size(); ++n) edges_of_begin[n + 1] += edges_of_begin[n];
  edges_of.resize(edges.size() * 2);
  std::vector<std::int32_t> cursor(edges_of_begin.begin(), edges_of_begin.end() - 1);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    edges_of[cursor[edges[e].from]++] = static_cast<std::int32_t>(e);
    edges_of[cursor[edges[e].to]++] = static_cast<std::int32_t>(e);
  }
}

}  // namespace ipex_studio
