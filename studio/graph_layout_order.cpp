// Order of the vertices within their layers: barycentre sweeps with the reading order as tie-break.
#include <algorithm>
#include <numeric>

#include "studio/graph_layout_internal.h"

namespace ipex_studio::layout_internal {
namespace {

constexpr int kSweeps = 4;

void updatePositions(LayeredGraph* graph, const std::vector<std::int32_t>& layer) {
  for (std::size_t i = 0; i < layer.size(); ++i) graph->position[layer[i]] = static_cast<std::int32_t>(i);
}

// Sorts one layer by the mean position of its neighbours above (or below). A vertex without neighbours keeps its place
// in relation to the one before it.
void sortLayer(LayeredGraph* graph, std::vector<std::int32_t>* layer, const Adjacency& neighbours,
               std::vector<float>* weight) {
  if (layer->size() < 2) return;
  float last = -1;
  for (const std::int32_t v : *layer) {
    const std::int32_t degree = neighbours.degree(v);
    if (degree > 0) {
      double sum = 0;
      for (std::int32_t i = neighbours.begin[v]; i < neighbours.begin[v + 1]; ++i) {
        sum += graph->position[neighbours.targets[i]];
      }
      last = static_cast<float>(sum / degree);
    }
    (*weight)[v] = last;
  }
  std::stable_sort(layer->begin(), layer->end(), [&](std::int32_t a, std::int32_t b) {
    if ((*weight)[a] != (*weight)[b]) return (*weight)[a] < (*weight)[b];
    return graph->rank[a] < graph->rank[b];
  });
  updatePositions(graph, *layer);
}

// Crossings between a layer and the next, by counting inversions in a Fenwick tree.
std::int64_t crossingsBelow(const LayeredGraph& graph, std::size_t layer, std::vector<std::int32_t>* ends,
                            std::vector<std::int32_t>* tree) {
  ends->clear();
  for (const std::int32_t v : graph.order[layer]) {
    const auto first = ends->size();
    for (std::int32_t i = graph.down.begin[v]; i < graph.down.begin[v + 1]; ++i) {
      ends->push_back(graph.position[graph.down.targets[i]]);
    }
    std::sort(ends->begin() + static_cast<std::ptrdiff_t>(first), ends->end());
  }
  const auto width = static_cast<std::int32_t>(graph.order[layer + 1].size());
  if (ends->size() < 2 || width < 2) return 0;
  tree->assign(static_cast<std::size_t>(width) + 1, 0);
  std::int64_t crossings = 0;
  std::int32_t inserted = 0;
  for (const std::int32_t end : *ends) {
    std::int32_t not_right = 0;
    for (std::int32_t i = end + 1; i > 0; i -= i & -i) not_right += (*tree)[i];
    crossings += inserted - not_right;
    for (std::int32_t i = end + 1; i <= width; i += i & -i) ++(*tree)[i];
    ++inserted;
  }
  return crossings;
}

std::int64_t countCrossings(const LayeredGraph& graph) {
  std::vector<std::int32_t> ends;
  std::vector<std::int32_t> tree;
  std::int64_t crossings = 0;
  for (std::size_t l = 0; l + 1 < graph.order.size(); ++l) crossings += crossingsBelow(graph, l, &ends, &tree);
  return crossings;
}

void initialOrder(LayeredGraph* graph) {
  const std::int32_t layers =
      graph->layer.empty() ? 0 : *std::max_element(graph->layer.begin(), graph->layer.end()) + 1;
  graph->order.assign(static_cast<std::size_t>(layers), {});
  std::vector<std::int32_t> by_rank(graph->layer.size());
  std::iota(by_rank.begin(), by_rank.end(), 0);
  std::stable_sort(by_rank.begin(), by_rank.end(),
                   [&](std::int32_t a, std::int32_t b) { return graph->rank[a] < graph->rank[b]; });
  for (const std::int32_t v : by_rank) graph->order[graph->layer[v]].push_back(v);
  graph->position.assign(graph->layer.size(), 0);
  for (const auto& layer : graph->order) updatePositions(graph, layer);
}

void sortNeighbours(const LayeredGraph& graph, Adjacency* adjacency) {
  for (std::int32_t v = 0; v < graph.size(); ++v) {
    std::sort(adjacency->targets.begin() + adjacency->begin[v], adjacency->targets.begin() + adjacency->begin[v + 1],
              [&](std::int32_t a, std::int32_t b) { return graph.position[a] < graph.position[b]; });
  }
}

}  // namespace

void orderLayers(LayeredGraph* graph, const std::atomic<bool>* cancel) {
  initialOrder(graph);
  std::vector<float> weight(graph->layer.size(), 0);
  auto best = graph->order;
  std::int64_t fewest = countCrossings(*graph);
  for (int sweep = 0; sweep < kSweeps && fewest > 0; ++sweep) {
    const bool downwards = sweep % 2 == 0;
    const std::size_t layers = graph->order.size();
    for (std::size_t i = 1; i < layers; ++i) {
      if (stopped(cancel)) return;
      const std::size_t l = downwards ? i : layers - 1 - i;
      sortLayer(graph, &graph->order[l], downwards ? graph->up : graph->down, &weight);
    }
    const std::int64_t crossings = countCrossings(*graph);
    if (crossings < fewest) {
      fewest = crossings;
      best = graph->order;
    }
  }
  graph->order = std::move(best);
  for (const auto& layer : graph->order) updatePositions(graph, layer);
  sortNeighbours(*graph, &graph->up);
  sortNeighbours(*graph, &graph->down);
}

}  // namespace ipex_studio::layout_internal
