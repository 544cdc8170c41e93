// Horizontal coordinates after Brandes and Köpf, "Fast and Simple Horizontal Coordinate Assignment" (2001).
//
// Four times (from above or below, leftmost or rightmost) vertices are chained to a median neighbour into vertical
// blocks, which are then pushed together. The result is the mean of the middle two of the four coordinates. Pushing
// together works on the graph of blocks in topological order instead of by recursion.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "studio/canvas/graph_layout_internal.h"

namespace ipex_studio::layout_internal {
namespace {

constexpr float kUnset = std::numeric_limits<float>::max();

struct Direction {
  bool from_above;
  bool leftmost;
};

class Placement {
 public:
  Placement(const LayeredGraph& graph, float gap, const std::atomic<bool>* cancel)
      : graph_(graph), gap_(gap), cancel_(cancel) {}

  // Marks conflicts of type 1: an edge between nodes that crosses an edge between dummies gives way.
  void markConflicts();
  std::vector<float> place(Direction direction);

 private:
  bool inner(std::int32_t upper, std::int32_t lower) const { return graph_.isDummy(upper) && graph_.isDummy(lower); }
  bool conflicting(std::int32_t v, std::int32_t neighbour, bool from_above) const;
  void align(Direction direction);
  void compact(Direction direction);
  std::vector<float> pushTogether(const std::vector<std::int32_t>& topological, bool leftmost) const;
  bool sortBlocks(std::vector<std::int32_t>* topological);
  float separation(std::int32_t left, std::int32_t right) const {
    return (graph_.width[left] + graph_.width[right]) / 2 + gap_;
  }

  const LayeredGraph& graph_;
  const float gap_;
  const std::atomic<bool>* const cancel_;
  std::vector<bool> conflict_;  // for each entry of graph_.up.targets: true if it gives way
  std::vector<std::int32_t> root_;
  std::vector<std::int32_t> align_;
  Adjacency after_;                      // blocks at the right of a block, by their vertices there
  std::vector<std::int32_t> before_of_;  // for each entry of after_: the vertex at its left
  std::vector<float> x_;
};

void Placement::markConflicts() {
  conflict_.assign(graph_.up.targets.size(), false);
  for (std::size_t l = 1; l < graph_.order.size(); ++l) {
    const auto& lower = graph_.order[l];
    const auto upper_size = static_cast<std::int32_t>(graph_.order[l - 1].size());
    std::int32_t k0 = 0;
    std::size_t scan = 0;
    for (std::size_t i = 0; i < lower.size(); ++i) {
      std::int32_t k1 = -1;
      if (graph_.isDummy(lower[i]) && graph_.up.degree(lower[i]) > 0) {
        const std::int32_t above = graph_.up.targets[graph_.up.begin[lower[i]]];
        if (graph_.isDummy(above)) k1 = graph_.position[above];
      }
      if (k1 < 0 && i + 1 < lower.size()) continue;
      const std::int32_t limit = k1 < 0 ? upper_size - 1 : k1;
      for (; scan <= i; ++scan) {
        const std::int32_t v = lower[scan];
        for (std::int32_t e = graph_.up.begin[v]; e < graph_.up.begin[v + 1]; ++e) {
          const std::int32_t above = graph_.up.targets[e];
          const std::int32_t k = graph_.position[above];
          if ((k < k0 || k > limit) && !inner(above, v)) conflict_[e] = true;
        }
      }
      k0 = limit;
    }
  }
}

bool Placement::conflicting(std::int32_t v, std::int32_t neighbour, bool from_above) const {
  const std::int32_t lower = from_above ? v : neighbour;
  const std::int32_t upper = from_above ? neighbour : v;
  for (std::int32_t e = graph_.up.begin[lower]; e < graph_.up.begin[lower + 1]; ++e) {
    if (graph_.up.targets[e] == upper) return conflict_[e];
  }
  return false;
}

void Placement::align(Direction direction) {
  const std::int32_t size = graph_.size();
  root_.resize(static_cast<std::size_t>(size));
  align_.resize(static_cast<std::size_t>(size));
  for (std::int32_t v = 0; v < size; ++v) root_[v] = align_[v] = v;
  const Adjacency& neighbours = direction.from_above ? graph_.up : graph_.down;
  const std::size_t layers = graph_.order.size();
  for (std::size_t i = 1; i < layers; ++i) {
    const auto& layer = graph_.order[direction.from_above ? i : layers - 1 - i];
    const auto count = static_cast<std::int32_t>(layer.size());
    std::int32_t reached = direction.leftmost ? -1 : std::numeric_limits<std::int32_t>::max();
    for (std::int32_t k = 0; k < count; ++k) {
      const std::int32_t v = layer[direction.leftmost ? k : count - 1 - k];
      const std::int32_t degree = neighbours.degree(v);
      if (degree == 0) continue;
      std::array<std::int32_t, 2> medians = {(degree - 1) / 2, degree / 2};
      if (!direction.leftmost) std::swap(medians[0], medians[1]);
      for (const std::int32_t m : medians) {
        if (align_[v] != v) break;
        const std::int32_t u = neighbours.targets[neighbours.begin[v] + m];
        const std::int32_t p = graph_.position[u];
        const bool free = direction.leftmost ? p > reached : p < reached;
        if (!free || conflicting(v, u, direction.from_above)) continue;
        align_[u] = v;
        root_[v] = root_[u];
        align_[v] = root_[v];
        reached = p;
      }
    }
  }
}

// Sorts the blocks from left to right (Kahn). False for a circle, which correct alignments do not have.
bool Placement::sortBlocks(std::vector<std::int32_t>* topological) {
  const std::int32_t size = graph_.size();
  std::vector<std::int32_t> incoming(static_cast<std::size_t>(size), 0);
  after_.begin.assign(static_cast<std::size_t>(size) + 1, 0);
  for (const auto& layer : graph_.order) {
    for (std::size_t i = 1; i < layer.size(); ++i) {
      ++after_.begin[root_[layer[i - 1]] + 1];
      ++incoming[root_[layer[i]]];
    }
  }
  for (std::int32_t v = 0; v < size; ++v) after_.begin[v + 1] += after_.begin[v];
  after_.targets.resize(static_cast<std::size_t>(after_.begin[size]));
  before_of_.resize(after_.targets.size());
  std::vector<std::int32_t> cursor(after_.begin.begin(), after_.begin.end() - 1);
  for (const auto& layer : graph_.order) {
    for (std::size_t i = 1; i < layer.size(); ++i) {
      const std::int32_t at = cursor[root_[layer[i - 1]]]++;
      after_.targets[at] = layer[i];
      before_of_[at] = layer[i - 1];
    }
  }
  topological->clear();
  std::int32_t blocks = 0;
  for (std::int32_t v = 0; v < size; ++v) {
    if (root_[v] != v) continue;
    ++blocks;
    if (incoming[v] == 0) topological->push_back(v);
  }
  for (std::size_t i = 0; i < topological->size(); ++i) {
    const std::int32_t block = (*topological)[i];
    for (std::int32_t e = after_.begin[block]; e < after_.begin[block + 1]; ++e) {
      const std::int32_t right = root_[after_.targets[e]];
      if (--incoming[right] == 0) topological->push_back(right);
    }
  }
  return static_cast<std::int32_t>(topological->size()) == blocks;
}

// Pushes blocks as far to one side as their neighbours allow, then back towards these, so that no block is stretched
// away.
std::vector<float> Placement::pushTogether(const std::vector<std::int32_t>& topological, bool leftmost) const {
  std::vector<float> x(static_cast<std::size_t>(graph_.size()), leftmost ? 0 : kUnset);
  if (leftmost) {
    for (const std::int32_t block : topological) {
      for (std::int32_t e = after_.begin[block]; e < after_.begin[block + 1]; ++e) {
        float& right = x[root_[after_.targets[e]]];
        right = std::max(right, x[block] + separation(before_of_[e], after_.targets[e]));
      }
    }
    for (auto it = topological.rbegin(); it != topological.rend(); ++it) {
      float room = kUnset;
      for (std::int32_t e = after_.begin[*it]; e < after_.begin[*it + 1]; ++e) {
        room = std::min(room, x[root_[after_.targets[e]]] - separation(before_of_[e], after_.targets[e]));
      }
      if (room != kUnset) x[*it] = std::max(x[*it], room);
    }
    return x;
  }
  for (auto it = topological.rbegin(); it != topological.rend(); ++it) {
    float room = 0;
    for (std::int32_t e = after_.begin[*it]; e < after_.begin[*it + 1]; ++e) {
      room = std::min(room, x[root_[after_.targets[e]]] - separation(before_of_[e], after_.targets[e]));
    }
    x[*it] = room;
  }
  std::vector<float> least(x.size(), -kUnset);
  for (const std::int32_t block : topological) {
    if (least[block] != -kUnset) x[block] = std::min(x[block], least[block]);
    for (std::int32_t e = after_.begin[block]; e < after_.begin[block + 1]; ++e) {
      float& right = least[root_[after_.targets[e]]];
      right = std::max(right, x[block] + separation(before_of_[e], after_.targets[e]));
    }
  }
  return x;
}

void Placement::compact(Direction direction) {
  std::vector<std::int32_t> topological;
  if (!sortBlocks(&topological)) {
    // If there are no blocks every vertex is one, and only the order within layers binds.
    for (std::int32_t v = 0; v < graph_.size(); ++v) root_[v] = align_[v] = v;
    sortBlocks(&topological);
  }
  if (stopped(cancel_)) return;
  x_ = pushTogether(topological, direction.leftmost);
  for (std::int32_t v = 0; v < graph_.size(); ++v) x_[v] = x_[root_[v]];
}

std::vector<float> Placement::place(Direction direction) {
  align(direction);
  if (!stopped(cancel_)) compact(direction);
  return std::move(x_);
}

struct Extent {
  float low = kUnset;
  float high = -kUnset;
};

Extent extentOf(const LayeredGraph& graph, const std::vector<float>& x) {
  Extent extent;
  for (std::int32_t v = 0; v < graph.size(); ++v) {
    extent.low = std::min(extent.low, x[v] - graph.width[v] / 2);
    extent.high = std::max(extent.high, x[v] + graph.width[v] / 2);
  }
  return extent;
}

}  // namespace

std::vector<float> placeVertices(const LayeredGraph& graph, float node_gap, const std::atomic<bool>* cancel) {
  constexpr std::array<Direction, 4> kDirections = {{{true, true}, {true, false}, {false, true}, {false, false}}};
  Placement placement(graph, node_gap, cancel);
  placement.markConflicts();
  std::array<std::vector<float>, 4> x;
  std::array<Extent, 4> extent;
  std::size_t narrowest = 0;
  for (std::size_t d = 0; d < 4; ++d) {
    if (stopped(cancel)) return {};
    x[d] = placement.place(kDirections[d]);
    if (x[d].size() != static_cast<std::size_t>(graph.size()) || stopped(cancel)) return {};
    extent[d] = extentOf(graph, x[d]);
    if (extent[d].high - extent[d].low < extent[narrowest].high - extent[narrowest].low) narrowest = d;
  }
  for (std::size_t d = 0; d < 4; ++d) {
    const float shift =
        kDirections[d].leftmost ? extent[narrowest].low - extent[d].low : extent[narrowest].high - extent[d].high;
    for (float& value : x[d]) value += shift;
  }
  std::vector<float> centre(static_cast<std::size_t>(graph.size()));
  for (std::size_t v = 0; v < centre.size(); ++v) {
    std::array<float, 4> four = {x[0][v], x[1][v], x[2][v], x[3][v]};
    std::sort(four.begin(), four.end());
    centre[v] = std::round((four[1] + four[2]) / 2);
  }
  return centre;
}

}  // namespace ipex_studio::layout_internal
