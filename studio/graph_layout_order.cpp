// Order of the vertices within their layers: barycentre sweeps with the reading order as tie-break.
#include <algorithm>
#include <numeric>

#include "studio/graph_layout_internal.h"

namespace ipex_studio::layout_internal {
namespace {

// Sweeps down and up, fewer in large graphs, and an end before that when so many in a row brought nothing.
constexpr int kMostSweeps = 24;
constexpr int kLeastSweeps = 4;
constexpr std::int64_t kSweepBudget = 100000;  // vertices looked at in all sweeps together
constexpr int kIdleSweeps = 2;
constexpr int kMostExchanges = 4;  // rounds of exchanging neighbours per sweep
constexpr int kPushes = 4;         // of crossings, down and up in turn, per sweep
// Small graphs are begun from two orders, and each vertex looks for its best place in the whole layer.
constexpr int kMostStarts = 2;
constexpr std::int64_t kSiftedVertices = 700;
constexpr std::size_t kSiftedLayer = 64;

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

// Crossings among the edges of `left` and `right` to one side when they stand in this order. Neighbours are sorted.
std::int64_t crossingsOfPair(const LayeredGraph& graph, const Adjacency& side, std::int32_t left, std::int32_t right) {
  std::int64_t crossings = 0;
  std::int32_t before = side.begin[right];
  for (std::int32_t i = side.begin[left]; i < side.begin[left + 1]; ++i) {
    const std::int32_t at = graph.position[side.targets[i]];
    while (before < side.begin[right + 1] && graph.position[side.targets[before]] < at) ++before;
    crossings += before - side.begin[right];
  }
  return crossings;
}

void sortNeighboursOf(const LayeredGraph& graph, std::int32_t v, Adjacency* adjacency) {
  if (adjacency->degree(v) < 2) return;
  std::sort(adjacency->targets.begin() + adjacency->begin[v], adjacency->targets.begin() + adjacency->begin[v + 1],
            [&](std::int32_t a, std::int32_t b) { return graph.position[a] < graph.position[b]; });
}

void sortNeighboursOf(LayeredGraph* graph, const std::vector<std::int32_t>& layer) {
  for (const std::int32_t v : layer) {
    sortNeighboursOf(*graph, v, &graph->up);
    sortNeighboursOf(*graph, v, &graph->down);
  }
}

// layer[i] and its right neighbour change places.
void exchange(LayeredGraph* graph, std::vector<std::int32_t>* layer, std::size_t i) {
  std::swap((*layer)[i], (*layer)[i + 1]);
  graph->position[(*layer)[i]] = static_cast<std::int32_t>(i);
  graph->position[(*layer)[i + 1]] = static_cast<std::int32_t>(i) + 1;
}

// Neighbours in a layer change places where that saves crossings (Gansner et al., "A Technique for Drawing Directed
// Graphs", 1993). Every second sweep also where it costs none, which leads out of dead ends.
void exchangeNeighbours(LayeredGraph* graph, bool also_equal, const std::atomic<bool>* cancel) {
  for (int round = 0; round < kMostExchanges; ++round) {
    bool better = false;
    for (auto& layer : graph->order) {
      if (layer.size() < 2) continue;
      if (stopped(cancel)) return;
      sortNeighboursOf(graph, layer);
      for (std::size_t i = 0; i + 1 < layer.size(); ++i) {
        const std::int32_t v = layer[i];
        const std::int32_t w = layer[i + 1];
        const std::int64_t now = crossingsOfPair(*graph, graph->up, v, w) + crossingsOfPair(*graph, graph->down, v, w);
        if (now == 0) continue;
        const std::int64_t then = crossingsOfPair(*graph, graph->up, w, v) + crossingsOfPair(*graph, graph->down, w, v);
        if (then > now || (then == now && !(also_equal && round == 0))) continue;
        better = better || then < now;
        exchange(graph, &layer, i);
      }
    }
    if (!better) return;
  }
}

// Crossings are pushed from layer to layer, all the way down or up, at no cost, until they meet what makes them vanish:
// chains that cross come apart so, which no layer alone would do.
void pushCrossings(LayeredGraph* graph, bool downwards, const std::atomic<bool>* cancel) {
  const std::size_t layers = graph->order.size();
  for (std::size_t l = 0; l < layers; ++l) {
    auto& layer = graph->order[downwards ? l : layers - 1 - l];
    if (layer.size() < 2) continue;
    if (stopped(cancel)) return;
    sortNeighboursOf(graph, layer);
    const Adjacency& behind = downwards ? graph->up : graph->down;
    const Adjacency& ahead = downwards ? graph->down : graph->up;
    bool moved = true;
    for (int round = 0; round < kMostExchanges && moved; ++round) {
      moved = false;
      for (std::size_t i = 0; i + 1 < layer.size(); ++i) {
        const std::int32_t v = layer[i];
        const std::int32_t w = layer[i + 1];
        const std::int64_t saved = crossingsOfPair(*graph, behind, v, w) - crossingsOfPair(*graph, behind, w, v);
        if (saved <= 0 || crossingsOfPair(*graph, ahead, w, v) - crossingsOfPair(*graph, ahead, v, w) > saved) continue;
        exchange(graph, &layer, i);
        moved = true;
      }
    }
  }
}

// Moves `layer[at]` to where it causes fewest crossings with its own layer's neighbours standing as they do (Matuszewski,
// Schönfeld, Molitor, "Using Sifting for k-Layer Straightline Crossing Minimization", 1999).
bool siftVertex(LayeredGraph* graph, std::vector<std::int32_t>* layer, std::size_t at) {
  const std::int32_t v = (*layer)[at];
  const auto between = [&](std::int32_t left, std::int32_t right) {
    return crossingsOfPair(*graph, graph->up, left, right) + crossingsOfPair(*graph, graph->down, left, right);
  };
  std::int64_t best = 0;
  std::size_t place = at;
  std::int64_t change = 0;
  for (std::size_t i = at; i-- > 0;) {
    change += between(v, (*layer)[i]) - between((*layer)[i], v);
    if (change < best) {
      best = change;
      place = i;
    }
  }
  change = 0;
  for (std::size_t i = at + 1; i < layer->size(); ++i) {
    change += between((*layer)[i], v) - between(v, (*layer)[i]);
    if (change < best) {
      best = change;
      place = i;
    }
  }
  if (place == at) return false;
  layer->erase(layer->begin() + static_cast<std::ptrdiff_t>(at));
  layer->insert(layer->begin() + static_cast<std::ptrdiff_t>(place), v);
  updatePositions(graph, *layer);
  return true;
}

void siftLayers(LayeredGraph* graph, const std::atomic<bool>* cancel) {
  bool better = true;
  for (int round = 0; round < kMostExchanges && better; ++round) {
    better = false;
    for (auto& layer : graph->order) {
      if (layer.size() < 3 || layer.size() > kSiftedLayer) continue;
      if (stopped(cancel)) return;
      sortNeighboursOf(graph, layer);
      const std::vector<std::int32_t> vertices = layer;
      for (const std::int32_t v : vertices) better |= siftVertex(graph, &layer, static_cast<std::size_t>(graph->position[v]));
    }
  }
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

std::int64_t countCrossings(const LayeredGraph& graph, const std::atomic<bool>* cancel) {
  std::vector<std::int32_t> ends;
  std::vector<std::int32_t> tree;
  std::int64_t crossings = 0;
  for (std::size_t l = 0; l + 1 < graph.order.size() && !stopped(cancel); ++l)
    crossings += crossingsBelow(graph, l, &ends, &tree);
  return crossings;
}

// In the reading order of the graph, or its mirror image.
void initialOrder(LayeredGraph* graph, bool mirrored) {
  const std::int32_t layers =
      graph->layer.empty() ? 0 : *std::max_element(graph->layer.begin(), graph->layer.end()) + 1;
  graph->order.assign(static_cast<std::size_t>(layers), {});
  std::vector<std::int32_t> order(graph->layer.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return graph->rank[a] < graph->rank[b]; });
  if (mirrored) std::reverse(order.begin(), order.end());
  for (const std::int32_t v : order) graph->order[graph->layer[v]].push_back(v);
  graph->position.assign(graph->layer.size(), 0);
  for (const auto& layer : graph->order) updatePositions(graph, layer);
}

void sortNeighbours(const LayeredGraph& graph, Adjacency* adjacency) {
  for (std::int32_t v = 0; v < graph.size(); ++v) {
    std::sort(adjacency->targets.begin() + adjacency->begin[v], adjacency->targets.begin() + adjacency->begin[v + 1],
              [&](std::int32_t a, std::int32_t b) { return graph.position[a] < graph.position[b]; });
  }
}

struct BestOrder {
  std::vector<std::vector<std::int32_t>> order;
  std::int64_t crossings = -1;  // negative: none yet
};

void sweep(LayeredGraph* graph, int sweeps, bool upwards_first, const std::atomic<bool>* cancel, BestOrder* best) {
  std::vector<float> weight(graph->layer.size(), 0);
  const auto keep = [&] {
    const std::int64_t crossings = countCrossings(*graph, cancel);
    if (best->crossings >= 0 && crossings >= best->crossings) return false;
    *best = {graph->order, crossings};
    return true;
  };
  keep();
  int idle = 0;
  for (int s = 0; s < sweeps && best->crossings > 0 && idle < kIdleSweeps; ++s) {
    const bool downwards = (s % 2 == 0) != upwards_first;
    const std::size_t layers = graph->order.size();
    for (std::size_t i = 1; i < layers; ++i) {
      if (stopped(cancel)) return;
      const std::size_t l = downwards ? i : layers - 1 - i;
      sortLayer(graph, &graph->order[l], downwards ? graph->up : graph->down, &weight);
    }
    exchangeNeighbours(graph, s % 4 >= 2, cancel);
    if (graph->size() <= kSiftedVertices) siftLayers(graph, cancel);
    bool better = keep();
    for (int push = 0; push < kPushes; ++push) {
      pushCrossings(graph, push % 2 == 0, cancel);
      better |= keep();
      if (graph->size() > kSiftedVertices) continue;
      siftLayers(graph, cancel);
      better |= keep();
    }
    idle = better ? 0 : idle + 1;
  }
}

}  // namespace

std::int64_t orderLayers(LayeredGraph* graph, const std::atomic<bool>* cancel) {
  const std::int64_t affordable = kSweepBudget / std::max<std::int64_t>(graph->size(), 1);
  const int sweeps = static_cast<int>(std::clamp<std::int64_t>(affordable, kLeastSweeps, kMostSweeps));
  const int starts = graph->size() <= kSiftedVertices ? kMostStarts : 1;
  BestOrder best;
  for (int start = 0; start < starts && best.crossings != 0 && !stopped(cancel); ++start) {
    initialOrder(graph, start % 2 == 1);
    BestOrder own;
    sweep(graph, sweeps, start % 2 == 1, cancel, &own);
    if (best.crossings < 0 || own.crossings < best.crossings) best = std::move(own);
  }
  if (stopped(cancel)) return 0;
  graph->order = std::move(best.order);
  for (const auto& layer : graph->order) updatePositions(graph, layer);
  sortNeighbours(*graph, &graph->up);
  sortNeighbours(*graph, &graph->down);
  return best.crossings;
}

}  // namespace ipex_studio::layout_internal
