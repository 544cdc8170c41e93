// See graph_layout.h.
#include "studio/canvas/graph_layout.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "studio/canvas/graph_layout_internal.h"

namespace ipex_studio {

using layout_internal::Adjacency;
using layout_internal::LayeredGraph;
using layout_internal::stopped;

namespace layout_internal {

Adjacency adjacencyOf(std::int32_t vertices, const std::vector<LayoutEdge>& edges, bool downwards) {
  Adjacency adjacency;
  adjacency.begin.assign(static_cast<std::size_t>(vertices) + 1, 0);
  for (const LayoutEdge& edge : edges) ++adjacency.begin[(downwards ? edge.from : edge.to) + 1];
  std::partial_sum(adjacency.begin.begin(), adjacency.begin.end(), adjacency.begin.begin());
  adjacency.targets.resize(edges.size());
  std::vector<std::int32_t> cursor(adjacency.begin.begin(), adjacency.begin.end() - 1);
  for (const LayoutEdge& edge : edges) {
    adjacency.targets[cursor[downwards ? edge.from : edge.to]++] = downwards ? edge.to : edge.from;
  }
  return adjacency;
}

}  // namespace layout_internal

namespace {

constexpr float kDummyWidth = 10;
constexpr float kMargin = 24;
// Smallest distance of an edge's end from a node's side.
constexpr float kPortInset = 14;
constexpr float kPortStep = 26;
// Most dummies per node that long edges get.
constexpr std::int64_t kDummiesPerNode = 4;
constexpr std::int64_t kDummiesAlways = 1000;
constexpr int kTightenPasses = 8;
constexpr std::size_t kMaxDragged = 96;
// Budget of work for reducing crossings, see orderLayers(); graphs with fewer than kFewNodes nodes get the budget of
// that many.
constexpr std::int64_t kWorkPerNode = 1500;
constexpr std::int32_t kFewNodes = 1500;

// An input edge, turned so that from < to, and the dummies it got.
struct Wire {
  std::int32_t from = -1;
  std::int32_t to = -1;
  std::int32_t first_dummy = -1;
  bool turned = false;
  bool routed = false;
};

std::vector<Wire> wiresOf(const LayoutGraph& graph) {
  const auto nodes = static_cast<std::int32_t>(graph.nodes.size());
  std::vector<Wire> wires(graph.edges.size());
  for (std::size_t e = 0; e < wires.size(); ++e) {
    const LayoutEdge& edge = graph.edges[e];
    if (edge.from < 0 || edge.to < 0 || edge.from >= nodes || edge.to >= nodes || edge.from == edge.to) continue;
    wires[e].turned = edge.from > edge.to;
    wires[e].from = std::min(edge.from, edge.to);
    wires[e].to = std::max(edge.from, edge.to);
    wires[e].routed = true;
  }
  return wires;
}

// Moves nodes, each with the nodes that its edges drag along, towards the side where more edges get shorter: what
// network simplex does exactly, with a bound on every step.
class Tightener {
 public:
  Tightener(const Adjacency& up, const Adjacency& down, std::vector<std::int32_t>* layer)
      : up_(up), down_(down), layer_(*layer), mark_(layer->size(), -1) {}

  void run(const std::atomic<bool>* cancel) {
    const auto nodes = static_cast<std::int32_t>(layer_.size());
    for (int pass = 0; pass < kTightenPasses; ++pass) {
      bool moved = false;
      for (std::int32_t i = 0; i < nodes && !stopped(cancel); ++i) {
        moved = shift(nodes - 1 - i, down_, up_, 1) || moved;
        moved = shift(i, up_, down_, -1) || moved;
      }
      if (!moved) return;
    }
  }

  // Goes through all nodes once more and moves those lower (sign 1) or higher (-1) that may stand there at no cost.
  void settle(std::int32_t sign, const std::atomic<bool>* cancel) {
    const auto nodes = static_cast<std::int32_t>(layer_.size());
    for (std::int32_t i = 0; i < nodes && !stopped(cancel); ++i) {
      shift(sign > 0 ? nodes - 1 - i : i, sign > 0 ? down_ : up_, sign > 0 ? up_ : down_, sign, 0);
    }
  }

 private:
  // Moves a node, with what its edges drag along, downwards (sign 1) or upwards (-1); true if it moved. `ahead`: edges
  // that get shorter; `behind`: edges that get longer.
  bool shift(std::int32_t seed, const Adjacency& ahead, const Adjacency& behind, std::int32_t sign,
             std::int32_t least_gain = 1) {
    ++stamp_;
    moving_.assign(1, seed);
    mark_[seed] = stamp_;
    const auto slack = [&](std::int32_t v, std::int32_t next) { return sign * (layer_[next] - layer_[v]) - 1; };
    for (std::size_t m = 0; m < moving_.size(); ++m) {
      const std::int32_t v = moving_[m];
      for (std::int32_t e = ahead.begin[v]; e < ahead.begin[v + 1]; ++e) {
        const std::int32_t next = ahead.targets[e];
        if (mark_[next] == stamp_ || slack(v, next) > 0) continue;
        if (moving_.size() >= kMaxDragged) return false;
        mark_[next] = stamp_;
        moving_.push_back(next);
      }
    }
    std::int32_t gain = 0;
    std::int32_t room = std::numeric_limits<std::int32_t>::max();
    for (const std::int32_t v : moving_) {
      for (std::int32_t e = ahead.begin[v]; e < ahead.begin[v + 1]; ++e) {
        if (mark_[ahead.targets[e]] == stamp_) continue;
        ++gain;
        room = std::min(room, slack(v, ahead.targets[e]));
      }
      for (std::int32_t e = behind.begin[v]; e < behind.begin[v + 1]; ++e)
        gain -= mark_[behind.targets[e]] == stamp_ ? 0 : 1;
    }
    if (gain < least_gain || room == std::numeric_limits<std::int32_t>::max()) return false;
    for (const std::int32_t v : moving_) layer_[v] += sign * room;
    return true;
  }

  const Adjacency& up_;
  const Adjacency& down_;
  std::vector<std::int32_t>& layer_;
  std::vector<std::int32_t> mark_;
  std::vector<std::int32_t> moving_;
  std::int32_t stamp_ = 0;
};

// First assignment of nodes to layers, before tightening: as high as their sources allow, or as low as their readers
// do.
struct Layering {
  bool from_sinks = false;
  std::int32_t settle = 0;  // direction of nodes that may stand higher or lower at no cost: 1 down, -1 up, 0 none
};

// Layer of each node, from 0 on.
std::vector<std::int32_t> assignLayers(std::int32_t nodes, const std::vector<Wire>& wires, Layering how,
                                       const std::atomic<bool>* cancel) {
  std::vector<LayoutEdge> edges;
  edges.reserve(wires.size());
  for (const Wire& wire : wires) {
    if (wire.routed) edges.push_back({wire.from, wire.to});
  }
  const Adjacency down = layout_internal::adjacencyOf(nodes, edges, true);
  const Adjacency up = layout_internal::adjacencyOf(nodes, edges, false);
  std::vector<std::int32_t> layer(static_cast<std::size_t>(nodes), 0);
  for (std::int32_t v = 0; v < nodes && !how.from_sinks; ++v) {
    for (std::int32_t i = up.begin[v]; i < up.begin[v + 1]; ++i)
      layer[v] = std::max(layer[v], layer[up.targets[i]] + 1);
  }
  for (std::int32_t v = nodes; v-- > 0 && how.from_sinks;) {
    for (std::int32_t i = down.begin[v]; i < down.begin[v + 1]; ++i)
      layer[v] = std::min(layer[v], layer[down.targets[i]] - 1);
  }
  Tightener tightener(up, down, &layer);
  tightener.run(cancel);
  if (how.settle != 0) tightener.settle(how.settle, cancel);
  const std::int32_t first = *std::min_element(layer.begin(), layer.end());
  for (std::int32_t& l : layer) l -= first;
  return layer;
}

// Gives short edges their dummies first; edges over the budget or the span become portals.
std::int32_t spendDummies(const std::vector<std::int32_t>& layer, std::int32_t portal_span, std::vector<Wire>* wires) {
  const auto nodes = static_cast<std::int32_t>(layer.size());
  std::vector<std::int32_t> by_span;
  for (std::size_t w = 0; w < wires->size(); ++w) {
    if ((*wires)[w].routed) by_span.push_back(static_cast<std::int32_t>(w));
  }
  const auto span = [&](std::int32_t w) { return layer[(*wires)[w].to] - layer[(*wires)[w].from]; };
  std::stable_sort(by_span.begin(), by_span.end(), [&](std::int32_t a, std::int32_t b) { return span(a) < span(b); });
  const std::int64_t budget = kDummiesPerNode * nodes + kDummiesAlways;
  std::int64_t spent = 0;
  for (const std::int32_t w : by_span) {
    Wire& wire = (*wires)[w];
    const std::int32_t dummies = span(w) - 1;
    wire.routed = span(w) <= portal_span && spent + dummies <= budget;
    if (!wire.routed || dummies <= 0) continue;
    wire.first_dummy = nodes + static_cast<std::int32_t>(spent);
    spent += dummies;
  }
  return static_cast<std::int32_t>(spent);
}

LayeredGraph layeredGraph(const LayoutGraph& graph, std::vector<std::int32_t> layer, const std::vector<Wire>& wires,
                          std::int32_t dummies) {
  LayeredGraph layered;
  layered.nodes = static_cast<std::int32_t>(graph.nodes.size());
  const std::int32_t size = layered.nodes + dummies;
  layered.layer = std::move(layer);
  layered.layer.resize(static_cast<std::size_t>(size));
  layered.rank.resize(static_cast<std::size_t>(size));
  std::iota(layered.rank.begin(), layered.rank.begin() + layered.nodes, 0);
  layered.width.assign(static_cast<std::size_t>(size), kDummyWidth);
  for (std::int32_t v = 0; v < layered.nodes; ++v) layered.width[v] = graph.nodes[v].width;
  std::vector<LayoutEdge> edges;
  for (const Wire& wire : wires) {
    if (!wire.routed) continue;
    std::int32_t above = wire.from;
    const std::int32_t between = layered.layer[wire.to] - layered.layer[wire.from] - 1;
    for (std::int32_t i = 0; i < between; ++i) {
      const std::int32_t dummy = wire.first_dummy + i;
      layered.layer[dummy] = layered.layer[wire.from] + 1 + i;
      layered.rank[dummy] = layered.rank[wire.from];
      edges.push_back({above, dummy});
      above = dummy;
    }
    edges.push_back({above, wire.to});
  }
  layered.down = layout_internal::adjacencyOf(size, edges, true);
  layered.up = layout_internal::adjacencyOf(size, edges, false);
  return layered;
}

// Finds layers and orders. While budget is left other layerings of the same length are tried; the one with the fewest
// crossings is kept, of equal ones the first.
LayeredGraph bestLayers(const LayoutGraph& graph, const LayoutOptions& options, std::vector<Wire>* wires,
                        const std::atomic<bool>* cancel) {
  constexpr Layering kLayerings[] = {{false, 0}, {true, 0}, {false, 1}, {false, -1}, {true, -1}};
  const auto nodes = static_cast<std::int32_t>(graph.nodes.size());
  LayeredGraph best;
  std::vector<Wire> best_wires;
  std::int64_t fewest = -1;
  std::int64_t work = kWorkPerNode * std::max(nodes, kFewNodes);
  for (const Layering how : kLayerings) {
    if (stopped(cancel) || fewest == 0 || (fewest > 0 && work <= 0)) break;
    std::vector<Wire> tried = *wires;
    std::vector<std::int32_t> layer = assignLayers(nodes, tried, how, cancel);
    const std::int32_t dummies = spendDummies(layer, options.portal_span, &tried);
    if (stopped(cancel)) break;
    LayeredGraph layered = layeredGraph(graph, std::move(layer), tried, dummies);
    const std::int64_t crossings = layout_internal::orderLayers(&layered, &work, cancel);
    const auto portals = [](const std::vector<Wire>& all) {
      return std::count_if(all.begin(), all.end(), [](const Wire& wire) { return !wire.routed; });
    };
    // A portal crosses nothing, so a layering with more of them is no better.
    if (fewest >= 0 && (crossings >= fewest || portals(tried) > portals(best_wires))) continue;
    fewest = crossings;
    best = std::move(layered);
    best_wires = std::move(tried);
  }
  if (fewest >= 0) *wires = std::move(best_wires);
  return best;
}

struct LayerBand {
  float top = 0;
  float height = 0;
};

std::vector<LayerBand> stackLayers(const LayoutGraph& graph, const LayeredGraph& layered, float gap) {
  std::vector<LayerBand> bands(layered.order.size());
  for (std::size_t v = 0; v < graph.nodes.size(); ++v) {
    float& height = bands[layered.layer[v]].height;
    height = std::max(height, graph.nodes[v].height);
  }
  float top = kMargin;
  for (LayerBand& band : bands) {
    band.top = top;
    top += band.height + gap;
  }
  return bands;
}

// Ends of a node's edges, spread along its side in the order of their other ends. The edge to a neighbour straight
// above or below keeps the middle, so that it stays straight.
class Ports {
 public:
  Ports(const LayeredGraph& layered, const std::vector<float>& centre) : layered_(layered), centre_(centre) {}

  float lower(std::int32_t v, std::int32_t neighbour) const { return end(v, neighbour, layered_.down); }
  float upper(std::int32_t v, std::int32_t neighbour) const { return end(v, neighbour, layered_.up); }

 private:
  // Neighbours are sorted by position, so equal ones (parallel edges) share a port.
  float end(std::int32_t v, std::int32_t neighbour, const Adjacency& adjacency) const {
    const std::int32_t degree = adjacency.degree(v);
    if (degree < 2) return centre_[v];
    const auto first = adjacency.targets.begin() + adjacency.begin[v];
    const auto place = std::lower_bound(first, first + degree, neighbour, [&](std::int32_t a, std::int32_t b) {
      return layered_.position[a] < layered_.position[b];
    });
    const float room = std::max(0.F, layered_.width[v] - 2 * kPortInset);
    const float step = std::min(kPortStep, room / static_cast<float>(degree - 1));
    float middle = static_cast<float>(degree - 1) / 2;
    for (std::int32_t i = 0; i < degree; ++i) {
      if (std::abs(centre_[*(first + i)] - centre_[v]) < 1) middle = static_cast<float>(i);
    }
    const float offset = step * (static_cast<float>(place - first) - middle);
    return centre_[v] + std::clamp(offset, -room / 2, room / 2);
  }

  const LayeredGraph& layered_;
  const std::vector<float>& centre_;
};

void appendPoint(Layout* layout, std::int32_t begin, LayoutPoint point) {
  const auto size = static_cast<std::int32_t>(layout->points.size());
  if (size > begin && layout->points[size - 1].x == point.x && layout->points[size - 1].y == point.y) return;
  const bool straight =
      size - begin >= 2 && layout->points[size - 1].x == point.x && layout->points[size - 2].x == point.x;
  if (straight) {
    layout->points.back() = point;
  } else {
    layout->points.push_back(point);
  }
}

void routeWire(const LayoutGraph& graph, const LayeredGraph& layered, const std::vector<LayerBand>& bands,
               const std::vector<float>& centre, const Wire& wire, Layout* layout, LayoutRoute* route) {
  const Ports ports(layered, centre);
  const std::int32_t between = layered.layer[wire.to] - layered.layer[wire.from] - 1;
  const std::int32_t below = between > 0 ? wire.first_dummy : wire.to;
  const std::int32_t above = between > 0 ? wire.first_dummy + between - 1 : wire.from;
  route->begin = static_cast<std::int32_t>(layout->points.size());
  // The edge goes straight through the rest of the nodes' own layers: a slanted line would meet lower nodes beside
  // it.
  const float start = ports.lower(wire.from, below);
  const LayerBand& from = bands[layered.layer[wire.from]];
  appendPoint(layout, route->begin, {start, layout->corners[wire.from].y + graph.nodes[wire.from].height});
  appendPoint(layout, route->begin, {start, from.top + from.height});
  for (std::int32_t i = 0; i < between; ++i) {
    const std::int32_t dummy = wire.first_dummy + i;
    const LayerBand& band = bands[layered.layer[dummy]];
    appendPoint(layout, route->begin, {centre[dummy], band.top});
    appendPoint(layout, route->begin, {centre[dummy], band.top + band.height});
  }
  const float end = ports.upper(wire.to, above);
  appendPoint(layout, route->begin, {end, bands[layered.layer[wire.to]].top});
  appendPoint(layout, route->begin, {end, layout->corners[wire.to].y});
  route->count = static_cast<std::int32_t>(layout->points.size()) - route->begin;
  if (wire.turned) std::reverse(layout->points.begin() + route->begin, layout->points.end());
}

}  // namespace

Layout layoutGraph(const LayoutGraph& graph, const LayoutOptions& options, const std::atomic<bool>* cancel) {
  Layout layout;
  const auto nodes = static_cast<std::int32_t>(graph.nodes.size());
  std::vector<Wire> wires = wiresOf(graph);
  layout.routes.resize(wires.size());
  if (nodes == 0) return layout;
  const LayeredGraph layered = bestLayers(graph, options, &wires, cancel);
  std::vector<float> centre;
  if (!stopped(cancel)) centre = layout_internal::placeVertices(layered, options.node_gap, cancel);
  if (stopped(cancel) || centre.empty()) {
    layout = {};
    layout.cancelled = true;
    return layout;
  }
  float left = std::numeric_limits<float>::max();
  for (std::int32_t v = 0; v < layered.size(); ++v) left = std::min(left, centre[v] - layered.width[v] / 2);
  for (float& x : centre) x += kMargin - std::floor(left);
  const std::vector<LayerBand> bands = stackLayers(graph, layered, options.layer_gap);
  layout.corners.resize(graph.nodes.size());
  layout.layers.assign(layered.layer.begin(), layered.layer.begin() + nodes);
  for (std::int32_t v = 0; v < nodes; ++v) {
    const LayerBand& band = bands[layered.layer[v]];
    layout.corners[v] = {centre[v] - graph.nodes[v].width / 2, band.top + (band.height - graph.nodes[v].height) / 2};
  }
  for (std::int32_t v = 0; v < layered.size(); ++v) {
    layout.width = std::max(layout.width, centre[v] + layered.width[v] / 2 + kMargin);
  }
  layout.height = bands.back().top + bands.back().height + kMargin;
  for (std::size_t w = 0; w < wires.size(); ++w) {
    if (wires[w].routed) routeWire(graph, layered, bands, centre, wires[w], &layout, &layout.routes[w]);
  }
  return layout;
}

}  // namespace ipex_studio
