// Order of the vertices within their layers: barycentre sweeps from several starts, exchanges of neighbours, a planar
// embedding, paths put elsewhere.
#include <algorithm>
#include <numeric>

#include "studio/canvas/graph_layout_internal.h"

namespace ipex_studio::layout_internal {
namespace {

// Most sweeps down and up; they end early after some without success, or without budget.
constexpr int kMaxSweeps = 24;
constexpr int kMinSweeps = 4;
constexpr int kIdleSweeps = 3;
constexpr int kMaxExchanges = 4;  // most rounds of exchanging neighbours per sweep
// Most rounds of putting paths elsewhere, and most of them in a row without success.
constexpr int kMaxRounds = 16;
constexpr int kIdleRounds = 5;
// Cost per vertex, in units of `work`: of preparing all starts, and of one sweep.
constexpr std::int64_t kPrepareCost = 300;
constexpr std::int64_t kSweepCost = 100;

void updatePositions(LayeredGraph* graph, const std::vector<std::int32_t>& layer) {
  for (std::size_t i = 0; i < layer.size(); ++i) graph->position[layer[i]] = static_cast<std::int32_t>(i);
}

// Sorts a layer by the mean position of its vertices' neighbours above (or below). Vertices without any keep their
// places.
void sortLayer(LayeredGraph* graph, std::vector<std::int32_t>* layer, const Adjacency& neighbours,
               std::vector<float>* weight) {
  if (layer->size() < 2) return;
  std::vector<std::int32_t> moving;
  for (const std::int32_t v : *layer) {
    const std::int32_t degree = neighbours.degree(v);
    if (degree == 0) continue;
    double sum = 0;
    for (std::int32_t i = neighbours.begin[v]; i < neighbours.begin[v + 1]; ++i) {
      sum += graph->position[neighbours.targets[i]];
    }
    (*weight)[v] = static_cast<float>(sum / degree);
    moving.push_back(v);
  }
  std::stable_sort(moving.begin(), moving.end(),
                   [&](std::int32_t a, std::int32_t b) { return (*weight)[a] < (*weight)[b]; });
  std::size_t next = 0;
  for (std::int32_t& v : *layer) {
    if (neighbours.degree(v) > 0) v = moving[next++];
  }
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

// Exchanges layer[i] and its right neighbour.
void exchange(LayeredGraph* graph, std::vector<std::int32_t>* layer, std::size_t i) {
  std::swap((*layer)[i], (*layer)[i + 1]);
  graph->position[(*layer)[i]] = static_cast<std::int32_t>(i);
  graph->position[(*layer)[i + 1]] = static_cast<std::int32_t>(i) + 1;
}

// Exchanges neighbours in a layer where that saves crossings (Gansner et al., "A Technique for Drawing Directed
// Graphs", 1993); in every second sweep also where it costs none, which leads out of dead ends.
void exchangeNeighbours(LayeredGraph* graph, bool also_equal, const std::atomic<bool>* cancel) {
  for (int round = 0; round < kMaxExchanges; ++round) {
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

// Order of the vertices before the first sweep: the reading order of the graph, by branches, and their mirror images.
enum class Start { kReading, kBranches, kReadingMirrored, kBranchesUpwards };

// An order of the vertices that takes a branch after the other: each vertex follows as soon as all before it were
// visited, the latest first, those of lowest `key` before others.
std::vector<std::int32_t> byBranches(const LayeredGraph& graph, bool upwards, const std::vector<std::int32_t>& key) {
  const Adjacency& behind = upwards ? graph.down : graph.up;
  const Adjacency& ahead = upwards ? graph.up : graph.down;
  std::vector<std::int32_t> missing(graph.layer.size());
  std::vector<std::int32_t> ready;
  const auto orderFrom = [&](std::size_t begin) {
    std::sort(ready.begin() + static_cast<std::ptrdiff_t>(begin), ready.end(),
              [&](std::int32_t a, std::int32_t b) { return key[a] != key[b] ? key[a] > key[b] : a > b; });
  };
  for (std::int32_t v = 0; v < graph.size(); ++v) {
    missing[v] = behind.degree(v);
    if (missing[v] == 0) ready.push_back(v);
  }
  orderFrom(0);
  std::vector<std::int32_t> visited;
  visited.reserve(missing.size());
  while (!ready.empty()) {
    const std::int32_t v = ready.back();
    ready.pop_back();
    visited.push_back(v);
    const std::size_t first = ready.size();
    for (std::int32_t e = ahead.begin[v]; e < ahead.begin[v + 1]; ++e) {
      if (--missing[ahead.targets[e]] == 0) ready.push_back(ahead.targets[e]);
    }
    orderFrom(first);
  }
  return visited;
}

// Goes once against the direction and then along it, so that branches that join soon stand together where they part.
// There are no crossings where branches only part and join again.
std::vector<std::int32_t> byBranches(const LayeredGraph& graph, bool upwards) {
  const std::vector<std::int32_t> first = byBranches(graph, !upwards, graph.rank);
  std::vector<std::int32_t> key(first.size());
  for (std::size_t i = 0; i < first.size(); ++i) key[first[i]] = static_cast<std::int32_t>(i);
  return byBranches(graph, upwards, key);
}

void initialOrder(LayeredGraph* graph, Start start) {
  const std::int32_t layers =
      graph->layer.empty() ? 0 : *std::max_element(graph->layer.begin(), graph->layer.end()) + 1;
  graph->order.assign(static_cast<std::size_t>(layers), {});
  std::vector<std::int32_t> order;
  if (start == Start::kBranches || start == Start::kBranchesUpwards) {
    order = byBranches(*graph, start == Start::kBranchesUpwards);
  } else {
    order.resize(graph->layer.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int32_t a, std::int32_t b) { return graph->rank[a] < graph->rank[b]; });
    if (start == Start::kReadingMirrored) std::reverse(order.begin(), order.end());
  }
  for (const std::int32_t v : order) graph->order[graph->layer[v]].push_back(v);
  graph->position.assign(graph->layer.size(), 0);
  for (const auto& layer : graph->order) updatePositions(graph, layer);
}

// Connected components of the graph, numbered in the order of their first vertices.
struct Components {
  std::int32_t count = 0;
  std::vector<std::int32_t> of;
};

Components componentsOf(const LayeredGraph& graph) {
  Components components;
  components.of.assign(graph.layer.size(), -1);
  std::vector<std::int32_t> reached;
  for (std::int32_t v = 0; v < graph.size(); ++v) {
    if (components.of[v] >= 0) continue;
    components.of[v] = components.count;
    reached.assign(1, v);
    while (!reached.empty()) {
      const std::int32_t at = reached.back();
      reached.pop_back();
      for (const Adjacency* side : {&graph.up, &graph.down}) {
        for (std::int32_t e = side->begin[at]; e < side->begin[at + 1]; ++e) {
          const std::int32_t next = side->targets[e];
          if (components.of[next] >= 0) continue;
          components.of[next] = components.count;
          reached.push_back(next);
        }
      }
    }
    ++components.count;
  }
  return components;
}

// Puts components side by side, without changing the order within them.
void separate(LayeredGraph* graph, const Components& components) {
  if (components.count < 2) return;
  for (auto& layer : graph->order) {
    std::stable_sort(layer.begin(), layer.end(),
                     [&](std::int32_t a, std::int32_t b) { return components.of[a] < components.of[b]; });
    updatePositions(graph, layer);
  }
}

void sortNeighbours(const LayeredGraph& graph, Adjacency* adjacency) {
  for (std::int32_t v = 0; v < graph.size(); ++v) {
    std::sort(adjacency->targets.begin() + adjacency->begin[v], adjacency->targets.begin() + adjacency->begin[v + 1],
              [&](std::int32_t a, std::int32_t b) { return graph.position[a] < graph.position[b]; });
  }
}

struct BestOrder {
  std::vector<std::vector<std::int32_t>> order;
  std::int64_t crossings = -1;  // number of crossings; negative: no order yet
};

// The best order found by sweeps down and up.
BestOrder sweep(LayeredGraph* graph, const Components& components, bool upwards_first, std::int64_t* work,
                const std::atomic<bool>* cancel) {
  BestOrder best;
  std::vector<float> weight(graph->layer.size(), 0);
  const auto keep = [&] {
    separate(graph, components);
    const std::int64_t crossings = countCrossings(*graph, cancel);
    if (best.crossings >= 0 && crossings >= best.crossings) return false;
    best = {graph->order, crossings};
    return true;
  };
  keep();
  int idle = 0;
  for (int s = 0; s < kMaxSweeps && best.crossings > 0 && idle < kIdleSweeps && (*work > 0 || s < kMinSweeps); ++s) {
    const bool downwards = (s % 2 == 0) != upwards_first;
    const std::size_t layers = graph->order.size();
    for (std::size_t i = 1; i < layers; ++i) {
      if (stopped(cancel)) return best;
      const std::size_t l = downwards ? i : layers - 1 - i;
      sortLayer(graph, &graph->order[l], downwards ? graph->up : graph->down, &weight);
    }
    exchangeNeighbours(graph, s % 4 >= 2, cancel);
    *work -= kSweepCost * graph->size();
    idle = keep() ? 0 : idle + 1;
  }
  return best;
}

void restore(LayeredGraph* graph, const BestOrder& best) {
  graph->order = best.order;
  for (const auto& layer : graph->order) updatePositions(graph, layer);
}

// Puts paths elsewhere as long as that saves crossings; in every second round also where it saves none, in turn to
// the left and to the right, which leads out of dead ends.
void putPathsElsewhere(LayeredGraph* graph, const std::vector<LayeredPath>& paths, std::int64_t* work,
                       const std::atomic<bool>* cancel, BestOrder* best) {
  restore(graph, *best);
  constexpr Ties kTimingRounds[] = {Ties::kStay, Ties::kLeft, Ties::kStay, Ties::kRight};
  int idle = 0;
  for (int round = 0; round < kMaxRounds && idle < kIdleRounds && best->crossings > 0 && *work > 0; ++round) {
    const std::int64_t saved = reinsertPaths(graph, paths, kTimingRounds[round % 4], work, cancel);
    idle = saved > 0 ? 0 : idle + 1;
    best->crossings -= saved;
  }
  best->order = graph->order;
}

// Tries a planar drawing; `best` stays if that leads to no better order.
void embed(LayeredGraph* graph, const Components& components, const std::vector<LayeredPath>& paths, std::int64_t* work,
           const std::atomic<bool>* cancel, BestOrder* best) {
  std::vector<LayeredPath> left_out;
  if (!orderByEmbedding(graph, work, &left_out, cancel)) return;
  separate(graph, components);
  reinsertPaths(graph, left_out, Ties::kStay, work, cancel);
  BestOrder own{graph->order, countCrossings(*graph, cancel)};
  putPathsElsewhere(graph, paths, work, cancel, &own);
  if (!stopped(cancel) && own.crossings < best->crossings) *best = std::move(own);
}

}  // namespace

std::int64_t orderLayers(LayeredGraph* graph, std::int64_t* work, const std::atomic<bool>* cancel) {
  constexpr Start kStarts[] = {Start::kBranches, Start::kReading, Start::kBranchesUpwards, Start::kReadingMirrored};
  const std::vector<LayeredPath> paths = pathsOf(*graph);
  const Components components = componentsOf(*graph);
  *work -= kPrepareCost * graph->size();
  BestOrder best;
  for (const Start start : kStarts) {
    if (start == kStarts[1] && best.crossings > 0) embed(graph, components, paths, work, cancel, &best);
    if (best.crossings == 0 || (best.crossings > 0 && *work <= 0) || stopped(cancel)) break;
    initialOrder(graph, start);
    const bool upwards_first = start == Start::kReadingMirrored || start == Start::kBranchesUpwards;
    BestOrder own = sweep(graph, components, upwards_first, work, cancel);
    if (stopped(cancel)) break;
    putPathsElsewhere(graph, paths, work, cancel, &own);
    if (best.crossings < 0 || own.crossings < best.crossings) best = std::move(own);
  }
  if (stopped(cancel)) return 0;
  restore(graph, best);
  sortNeighbours(*graph, &graph->up);
  sortNeighbours(*graph, &graph->down);
  return best.crossings;
}

}  // namespace ipex_studio::layout_internal
