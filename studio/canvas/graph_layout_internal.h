// The layered graph that the steps of graph_layout.cpp hand on: real nodes and dummies, every edge one layer long.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "studio/canvas/graph_layout.h"

namespace ipex_studio::layout_internal {

// Neighbours of all vertices in one array: those of v are targets[begin[v] .. begin[v + 1]).
struct Adjacency {
  std::vector<std::int32_t> begin;
  std::vector<std::int32_t> targets;

  std::int32_t degree(std::int32_t v) const { return begin[v + 1] - begin[v]; }
};

// Vertices 0 .. nodes-1 are the nodes, the others dummies. `position` is the index within `order[layer]`.
struct LayeredGraph {
  std::int32_t nodes = 0;
  std::vector<std::int32_t> layer;
  std::vector<std::int32_t> rank;  // order between equal ones: that of the nodes; a dummy has its source's
  std::vector<float> width;
  Adjacency up;  // neighbours above, sorted by position once ordering is done
  Adjacency down;
  std::vector<std::vector<std::int32_t>> order;
  std::vector<std::int32_t> position;

  std::int32_t size() const { return static_cast<std::int32_t>(layer.size()); }
  bool isDummy(std::int32_t v) const { return v >= nodes; }
};

inline bool stopped(const std::atomic<bool>* cancel) {
  return cancel != nullptr && cancel->load(std::memory_order_relaxed);
}

// Both directions of `edges` (from, to) over `vertices` vertices.
Adjacency adjacencyOf(std::int32_t vertices, const std::vector<LayoutEdge>& edges, bool downwards);

// Fills `order` and `position` for the fewest crossings found, and returns their number. Subtracts the spent work
// from `work`, about a unit a nanosecond but counted, so that a graph always gets the same order; with no work left
// the least is done.
std::int64_t orderLayers(LayeredGraph* graph, std::int64_t* work, const std::atomic<bool>* cancel);

// Vertices of successive layers, each a neighbour of the one before.
using LayeredPath = std::vector<std::int32_t>;

// All single vertices, and all chains of vertices with one neighbour above and one below, with and without the
// vertices at their ends.
std::vector<LayeredPath> pathsOf(const LayeredGraph& graph);

// Choice among paths with equally few crossings.
enum class Ties { kStay, kLeft, kRight };

// Moves each path with a crossing to where it crosses least while the others stay. Returns the number of crossings
// saved.
std::int64_t reinsertPaths(LayeredGraph* graph, const std::vector<LayeredPath>& paths, Ties ties, std::int64_t* work,
                           const std::atomic<bool>* cancel);

// Edges around each vertex, clockwise in a planar drawing without the edges `left_out`; of parallel ones only one. If
// there is no such drawing, some edges of which one is in the way instead.
std::vector<std::int32_t> embedInPlane(std::int32_t vertices, const std::vector<LayoutEdge>& edges,
                                       const std::vector<bool>& left_out, Adjacency* around);

// Fills `order` and `position` as in a planar drawing without the paths `left_out`, which come last in their layers.
// False, and nothing is changed, if more would have to be left out than is worth it.
bool orderByEmbedding(LayeredGraph* graph, std::int64_t* work, std::vector<LayeredPath>* left_out,
                      const std::atomic<bool>* cancel);

// Centre of each vertex by Brandes and Köpf; neighbours in a layer are at least node_gap apart.
std::vector<float> placeVertices(const LayeredGraph& graph, float node_gap, const std::atomic<bool>* cancel);

}  // namespace ipex_studio::layout_internal
