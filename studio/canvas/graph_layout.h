// Layered layout of a directed graph: nodes in rows from top to bottom, long edges routed around nodes.
//
// The layout knows rectangles and edges only. It is deterministic (same input, same bytes), uses no recursion, and its
// passes have budgets of counted work: layers by longest path in the given order, tightened; dummy nodes along long
// edges up to a budget, portals beyond it; barycentre sweeps from several starts with exchanges of neighbours, whole
// paths put where they cross least; Brandes–Köpf x coordinates.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace ipex_studio {

struct LayoutSize {
  float width = 0;
  float height = 0;
};

// An edge between two nodes. One that points against the order of the nodes is laid out turned around; a self loop
// gets no route.
struct LayoutEdge {
  std::int32_t from = 0;
  std::int32_t to = 0;
};

struct LayoutGraph {
  std::vector<LayoutSize> nodes;  // sizes of the nodes in reading order, best topological
  std::vector<LayoutEdge> edges;  // edges; several between the same nodes are allowed
};

struct LayoutOptions {
  float node_gap = 28;            // least distance between neighbours in a layer
  float layer_gap = 30;           // distance between layers
  std::int32_t portal_span = 40;  // most layers that a routed edge spans
};

struct LayoutPoint {
  float x = 0;
  float y = 0;
};

struct LayoutRoute {
  std::int32_t begin = 0;  // first point: those of the edge are Layout::points[begin .. begin + count)
  std::int32_t count = 0;  // number of points; 0: a portal or a self loop, to be drawn as a stub at both ends
};

struct Layout {
  std::vector<LayoutPoint> corners;  // upper left corner of each node; all >= 0
  std::vector<std::int32_t> layers;  // layer of each node
  std::vector<LayoutPoint> points;
  std::vector<LayoutRoute> routes;  // route of each edge, from its source's lower side to its target's upper side
  float width = 0;
  float height = 0;
  bool cancelled = false;  // true: everything else is empty
};

// Lays a graph out. An edge with an end that is no node is dropped (its route is empty). `cancel` may be null; once
// it is true the function returns within milliseconds. Pure and thread-safe.
Layout layoutGraph(const LayoutGraph& graph, const LayoutOptions& options, const std::atomic<bool>* cancel);

}  // namespace ipex_studio
