// Layered layout of a directed graph: nodes in rows from top to bottom, long edges routed around nodes.
//
// Knows rectangles and edges only. Deterministic (same input, same bytes), no recursion, passes with a budget of counted
// work: layers by longest path in the given order, tightened; dummy nodes along long edges up to a budget, portals beyond
// it; barycentre sweeps from several starts with exchanges of neighbours, whole paths put where they cross least;
// Brandes–Köpf x coordinates.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace ipex_studio {

struct LayoutSize {
  float width = 0;
  float height = 0;
};

// Edges that point against the order of the nodes are laid out turned around. Self loops get no route.
struct LayoutEdge {
  std::int32_t from = 0;
  std::int32_t to = 0;
};

struct LayoutGraph {
  std::vector<LayoutSize> nodes;  // in the order in which they should read, best topological
  std::vector<LayoutEdge> edges;  // several between the same nodes are allowed
};

struct LayoutOptions {
  float node_gap = 28;            // between neighbours in a layer
  float layer_gap = 30;           // between layers
  std::int32_t portal_span = 40;  // edges over more layers are not routed
};

struct LayoutPoint {
  float x = 0;
  float y = 0;
};

struct LayoutRoute {
  std::int32_t begin = 0;  // points of edge e: Layout::points[begin .. begin + count)
  std::int32_t count = 0;  // 0: a portal, or a self loop: draw a stub at both ends
};

struct Layout {
  std::vector<LayoutPoint> corners;  // upper left corner of each node; all >= 0
  std::vector<std::int32_t> layers;  // of each node
  std::vector<LayoutPoint> points;
  std::vector<LayoutRoute> routes;  // per edge, from its source's lower side to its target's upper side
  float width = 0;
  float height = 0;
  bool cancelled = false;  // everything else is then empty
};

// Ends of edges outside the nodes are dropped (their route is empty). `cancel` may be null; when it turns true the
// function returns within milliseconds. Pure and thread-safe.
Layout layoutGraph(const LayoutGraph& graph, const LayoutOptions& options, const std::atomic<bool>* cancel);

}  // namespace ipex_studio
