// Paths taken out of the layers and put back where they cross least.
//
// With everything else where it is, the best place of a whole path - the dummies of a long edge, a branch of single
// nodes - is found exactly by going through its layers once, from each gap between vertices to each gap of the next
// layer. Sweeps and exchanges of neighbours do not find it, since they would have to make a layer worse first: a skip
// connection that goes from one side of its block to the other. A single vertex is the sifting of Matuszewski,
// Schönfeld and Molitor ("Using Sifting for k-Layer Straightline Crossing Minimization", 1999).
#include <algorithm>
#include <limits>

#include "studio/canvas/graph_layout_internal.h"

namespace ipex_studio::layout_internal {
namespace {

class Reinserter {
 public:
  Reinserter(LayeredGraph* graph, std::int64_t* work, const std::atomic<bool>* cancel)
      : graph_(*graph), work_(*work), cancel_(cancel), without_(graph->position) {}

  std::int64_t round(const std::vector<LayeredPath>& paths, Ties ties) {
    markCrossed();
    std::int64_t saved = 0;
    for (const LayeredPath& path : paths) {
      if (work_ <= 0 || stopped(cancel_)) break;
      if (std::none_of(path.begin(), path.end(), [&](std::int32_t v) { return crossed_[v]; })) continue;
      saved += reinsert(path, ties);
    }
    return saved;
  }

 private:
  struct Edge {
    std::int32_t above = 0;
    std::int32_t below = 0;
  };

  const std::vector<std::int32_t>& layerOf(std::int32_t v) const { return graph_.order[graph_.layer[v]]; }

  // Marks vertices that have a crossed edge.
  void markCrossed() {
    crossed_.assign(graph_.layer.size(), false);
    std::vector<std::int32_t> least;
    for (std::size_t l = 0; l + 1 < graph_.order.size(); ++l) {
      edges_.clear();
      for (const std::int32_t v : graph_.order[l]) {
        for (std::int32_t e = graph_.down.begin[v]; e < graph_.down.begin[v + 1]; ++e)
          edges_.push_back({v, graph_.down.targets[e]});
      }
      work_ -= 10 * static_cast<std::int64_t>(edges_.size());
      least.assign(edges_.size() + 1, std::numeric_limits<std::int32_t>::max());
      for (std::size_t i = edges_.size(); i-- > 0;) least[i] = std::min(least[i + 1], graph_.position[edges_[i].below]);
      std::int32_t most = -1;  // rightmost end of edges from vertices further left
      std::size_t end = 0;
      for (std::size_t begin = 0; begin < edges_.size(); begin = end) {
        while (end < edges_.size() && edges_[end].above == edges_[begin].above) ++end;
        std::int32_t own = most;
        for (std::size_t i = begin; i < end; ++i) {
          const std::int32_t at = graph_.position[edges_[i].below];
          own = std::max(own, at);
          if (most > at || least[end] < at) crossed_[edges_[i].above] = crossed_[edges_[i].below] = true;
        }
        most = own;
      }
    }
  }

  // Numbers the positions without the path, in its layers and the two beside them.
  void leaveOut(const LayeredPath& path) {
    const std::int32_t first = graph_.layer[path.front()];
    const std::int32_t last = graph_.layer[path.back()];
    const auto layers = static_cast<std::int32_t>(graph_.order.size());
    for (std::int32_t l = std::max(first - 1, 0); l <= std::min(last + 1, layers - 1); ++l) {
      const std::int32_t gone = l >= first && l <= last ? path[l - first] : -1;
      std::int32_t place = 0;
      for (const std::int32_t v : graph_.order[l]) {
        without_[v] = place;
        if (v != gone) ++place;
      }
    }
  }

  // Collects edges between layer `l` and the next by positions without the path, except those of its vertices `above`
  // and `below`.
  void takeEdges(std::int32_t l, std::int32_t above, std::int32_t below) {
    edges_.clear();
    if (l < 0 || l + 1 >= static_cast<std::int32_t>(graph_.order.size())) return;
    for (const std::int32_t v : graph_.order[l]) {
      if (v == above) continue;
      for (std::int32_t e = graph_.down.begin[v]; e < graph_.down.begin[v + 1]; ++e) {
        const std::int32_t w = graph_.down.targets[e];
        if (w != below) edges_.push_back({without_[v], without_[w]});
      }
    }
    work_ -= 10 + 4 * static_cast<std::int64_t>(edges_.size());
  }

  // Adds to cost[g] the crossings of an edge from gap g to the vertex at `fixed` in the layer on the other side.
  void addEdge(std::int32_t fixed, bool fixed_above, std::vector<std::int32_t>* cost) {
    step_.assign(cost->size() + 1, 0);
    std::int32_t crossings = 0;
    for (const Edge& edge : edges_) {
      const std::int32_t near = fixed_above ? edge.above : edge.below;
      const std::int32_t far = fixed_above ? edge.below : edge.above;
      if (near < fixed) {
        ++crossings;
        --step_[far + 1];
      } else if (near > fixed) {
        ++step_[far + 1];
      }
    }
    for (std::size_t g = 0; g < cost->size(); ++g) {
      crossings += step_[g];
      (*cost)[g] += crossings;
    }
    work_ -= 10 + static_cast<std::int64_t>(edges_.size() + cost->size());
  }

  // Crossings of the edges of `v` to one side, from each gap of its layer, except those to `except`.
  const std::vector<std::int32_t>& edgesCost(std::int32_t v, bool upwards, std::int32_t except) {
    const Adjacency& side = upwards ? graph_.up : graph_.down;
    fan_.assign(layerOf(v).size(), 0);
    for (std::int32_t e = side.begin[v]; e < side.begin[v + 1]; ++e) {
      if (side.targets[e] != except) addEdge(without_[side.targets[e]], upwards, &fan_);
    }
    return fan_;
  }

  std::int64_t costOf(const LayeredPath& path) const {
    std::int64_t cells = 100;
    for (std::size_t i = 0; i < path.size(); ++i) {
      const auto width = static_cast<std::int64_t>(layerOf(path[i]).size());
      cells += i + 1 < path.size() ? width * static_cast<std::int64_t>(layerOf(path[i + 1]).size()) : width;
    }
    return cells;
  }

  // Puts the path where it crosses least and returns the number of crossings saved. cost_[g]: least number for the
  // path down to the current layer if it stands in gap g there.
  std::int64_t reinsert(const LayeredPath& path, Ties ties) {
    if (costOf(path) > work_) return 0;
    work_ -= costOf(path);
    leaveOut(path);
    if (from_.size() < path.size()) from_.resize(path.size());
    const std::int32_t first = graph_.layer[path.front()];
    takeEdges(first - 1, -1, path.front());
    cost_ = edgesCost(path.front(), true, -1);
    std::int64_t now = cost_[without_[path.front()]];
    for (std::size_t i = 0; i < path.size(); ++i) {
      const std::int32_t v = path[i];
      const std::int32_t w = i + 1 < path.size() ? path[i + 1] : -1;
      takeEdges(first + static_cast<std::int32_t>(i), v, w);
      const std::vector<std::int32_t>& down = edgesCost(v, false, w);
      for (std::size_t g = 0; g < cost_.size(); ++g) cost_[g] += down[g];
      now += down[without_[v]];
      if (w < 0) break;
      now += step(v, w, &from_[i + 1]);
      const std::vector<std::int32_t>& up = edgesCost(w, true, v);
      for (std::size_t h = 0; h < cost_.size(); ++h) cost_[h] += up[h];
      now += up[without_[w]];
    }
    const std::int32_t stays = without_[path.back()];
    std::int32_t best = stays;
    for (std::int32_t g = 0; g < static_cast<std::int32_t>(cost_.size()); ++g) {
      const bool equal = cost_[g] == cost_[best] && ((ties == Ties::kLeft && best == stays) || ties == Ties::kRight);
      if (cost_[g] < cost_[best] || equal) best = g;
    }
    const std::int64_t saved = now - cost_[best];
    if (saved < 0 || (saved == 0 && ties == Ties::kStay)) return 0;
    for (std::size_t i = path.size(); i-- > 0;) {
      move(path[i], best);
      if (i > 0) best = from_[i][best];
    }
    return saved;
  }

  // Takes cost_ from v's layer to that of w, the next vertex of the path. from[h]: the gap before h. Returns the
  // crossings of their edge where it is now.
  std::int64_t step(std::int32_t v, std::int32_t w, std::vector<std::int32_t>* from) {
    const auto rows = static_cast<std::int32_t>(layerOf(v).size());
    const auto columns = static_cast<std::int32_t>(layerOf(w).size());
    collectSides(v, w);
    // row_[h]: crossings of an edge from the current gap g to h.
    row_.assign(static_cast<std::size_t>(columns) + 1, 0);
    for (const Edge& edge : edges_) row_[edge.below + 1] += parallel_;
    for (std::int32_t h = 1; h < columns; ++h) row_[h] += row_[h - 1];
    next_.assign(static_cast<std::size_t>(columns), std::numeric_limits<std::int32_t>::max());
    from->assign(static_cast<std::size_t>(columns), 0);
    std::int64_t now = 0;
    std::size_t edge = 0;  // edges are sorted by their upper ends
    for (std::int32_t g = 0; g < rows; ++g) {
      for (; edge < edges_.size() && edges_[edge].above < g; ++edge) {
        for (std::int32_t h = 0; h < columns; ++h) row_[h] += edges_[edge].below >= h ? parallel_ : -parallel_;
      }
      for (std::int32_t h = 0; h < columns; ++h) {
        const std::int32_t crossings = row_[h] + crossingsOfSides(g, h);
        const bool stays = g == without_[v] && h == without_[w];
        if (stays) now = crossings;
        const std::int32_t total = cost_[g] + crossings;
        if (total > next_[h] || (total == next_[h] && !stays)) continue;
        next_[h] = total;
        (*from)[h] = g;
      }
    }
    std::swap(cost_, next_);
    return now;
  }

  // Collects the other edges of two successive vertices of the path by their other ends, and counts how often these
  // are joined.
  void collectSides(std::int32_t v, std::int32_t w) {
    side_below_.clear();
    side_above_.clear();
    parallel_ = 0;
    for (std::int32_t e = graph_.down.begin[v]; e < graph_.down.begin[v + 1]; ++e) {
      const std::int32_t target = graph_.down.targets[e];
      if (target == w) {
        ++parallel_;
      } else {
        side_below_.push_back(without_[target]);
      }
    }
    for (std::int32_t e = graph_.up.begin[w]; e < graph_.up.begin[w + 1]; ++e) {
      if (graph_.up.targets[e] != v) side_above_.push_back(without_[graph_.up.targets[e]]);
    }
  }

  std::int32_t crossingsOfSides(std::int32_t g, std::int32_t h) const {
    std::int32_t crossings = 0;
    for (const std::int32_t above : side_above_) {
      for (const std::int32_t below : side_below_) crossings += (above >= g) == (below >= h) ? 1 : 0;
    }
    return crossings;
  }

  void move(std::int32_t v, std::int32_t to) {
    auto& layer = graph_.order[graph_.layer[v]];
    const std::int32_t from = graph_.position[v];
    const auto begin = layer.begin();
    if (from < to) {
      std::rotate(begin + from, begin + from + 1, begin + to + 1);
    } else {
      std::rotate(begin + to, begin + from, begin + from + 1);
    }
    for (std::int32_t i = std::min(from, to); i <= std::max(from, to); ++i) graph_.position[layer[i]] = i;
  }

  LayeredGraph& graph_;
  std::int64_t& work_;
  const std::atomic<bool>* cancel_;
  std::vector<std::int32_t> without_;  // positions without the current path
  std::vector<bool> crossed_;
  std::vector<Edge> edges_;  // edges between two layers
  std::vector<std::vector<std::int32_t>> from_;
  std::vector<std::int32_t> cost_;
  std::vector<std::int32_t> next_;
  std::vector<std::int32_t> fan_;
  std::vector<std::int32_t> step_;
  std::vector<std::int32_t> row_;
  std::vector<std::int32_t> side_below_;
  std::vector<std::int32_t> side_above_;
  std::int32_t parallel_ = 0;
};

}  // namespace

std::vector<LayeredPath> pathsOf(const LayeredGraph& graph) {
  std::vector<LayeredPath> paths;
  const auto inner = [&](std::int32_t v) { return graph.up.degree(v) == 1 && graph.down.degree(v) == 1; };
  const auto above = [&](std::int32_t v) { return graph.up.targets[graph.up.begin[v]]; };
  const auto below = [&](std::int32_t v) { return graph.down.targets[graph.down.begin[v]]; };
  for (std::int32_t v = 0; v < graph.size(); ++v) {
    if (!inner(v)) {
      paths.push_back({v});
      continue;
    }
    if (inner(above(v))) continue;  // a path begins above
    LayeredPath whole{above(v), v};
    while (inner(whole.back())) whole.push_back(below(whole.back()));
    paths.emplace_back(whole.begin() + 1, whole.end() - 1);
    paths.emplace_back(whole.begin() + 1, whole.end());
    paths.emplace_back(whole.begin(), whole.end() - 1);
    paths.push_back(std::move(whole));
  }
  return paths;
}

std::int64_t reinsertPaths(LayeredGraph* graph, const std::vector<LayeredPath>& paths, Ties ties, std::int64_t* work,
                           const std::atomic<bool>* cancel) {
  return Reinserter(graph, work, cancel).round(paths, ties);
}

}  // namespace ipex_studio::layout_internal
