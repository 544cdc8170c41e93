// Order of the vertices within their layers from a planar embedding.
//
// A planar graph with one source and one sink on its outer face can be drawn without a crossing whatever the layers
// are: of two vertices in a layer, the left one is that which a search that takes left edges first reaches first (Di
// Battista, Tamassia and Tollis, "Area Requirement and Symmetry Display of Planar Upward Drawings", 1992). All sources
// are joined to one source, and all sinks to one sink. If the graph is not planar, the edges in the way are left out at
// first, and put where they cross least in the end.
#include <algorithm>

#include "studio/canvas/graph_layout_internal.h"

namespace ipex_studio::layout_internal {
namespace {

constexpr int kMaxLeftOut = 24;
// Cost of one test per vertex or edge, in units of `work`.
constexpr std::int64_t kTestCost = 120;

// The graph in which chains of vertices with one edge on each side are contracted to edges, and parallel edges are one.
class Contracted {
 public:
  explicit Contracted(const LayeredGraph& layered) : layered_(layered), number_(layered.layer.size(), -1) {
    for (std::int32_t v = 0; v < layered.size(); ++v) {
      if (isInner(v)) continue;
      number_[v] = static_cast<std::int32_t>(vertex_.size());
      vertex_.push_back(v);
    }
    source_ = static_cast<std::int32_t>(vertex_.size());
    sink_ = source_ + 1;
    std::vector<Chain> chains;
    for (const std::int32_t v : vertex_) {
      for (std::int32_t e = layered.down.begin[v]; e < layered.down.begin[v + 1]; ++e) {
        std::int32_t end = layered.down.targets[e];
        while (isInner(end)) end = below(end);
        chains.push_back({number_[v], number_[end], layered.down.targets[e]});
      }
      if (layered.up.degree(v) == 0) chains.push_back({source_, number_[v], -1});
      if (layered.down.degree(v) == 0) chains.push_back({number_[v], sink_, -1});
    }
    chains.push_back({source_, sink_, -1});
    std::stable_sort(chains.begin(), chains.end(),
                     [](const Chain& a, const Chain& b) { return a.from != b.from ? a.from < b.from : a.to < b.to; });
    for (const Chain& chain : chains) {
      if (edges_.empty() || edges_.back().from != chain.from || edges_.back().to != chain.to) {
        edges_.push_back({chain.from, chain.to});
        heads_.emplace_back();
      }
      if (chain.head >= 0 && isInner(chain.head)) heads_.back().push_back(chain.head);
    }
    left_out_.assign(edges_.size(), false);
  }

  std::int64_t cost() const { return kTestCost * static_cast<std::int64_t>(vertex_.size() + edges_.size()); }

  // Finds an embedding; false if too many edges are in the way.
  bool embed(std::int64_t* work, const std::atomic<bool>* cancel) {
    for (int tries = 0; tries <= kMaxLeftOut && !stopped(cancel); ++tries) {
      *work -= cost();
      const std::vector<std::int32_t> conflict = embedInPlane(sink_ + 1, edges_, left_out_, &around_);
      if (conflict.empty()) return true;
      if (*work <= 0) return false;
      left_out_[leastOf(conflict)] = true;
    }
    return false;
  }

  // Vertices of the layered graph, those at the left first where neither is above the other.
  std::vector<std::int32_t> leftFirst() const {
    std::vector<std::int32_t> missing(static_cast<std::size_t>(sink_) + 1, 0);
    for (std::size_t e = 0; e < edges_.size(); ++e) missing[edges_[e].to] += left_out_[e] ? 0 : 1;
    std::vector<std::int32_t> visited;
    visited.reserve(layered_.layer.size());
    std::vector<Visit> stack;
    const auto enter = [&](std::int32_t v) {
      missing[v] = -1;
      if (v < source_) visited.push_back(vertex_[v]);
      stack.push_back({v, firstOut(v), 0});
    };
    for (std::int32_t i = -1; i < source_; ++i) {
      const std::int32_t start = i < 0 ? source_ : i;
      if (missing[start] == 0) enter(start);
      while (!stack.empty()) {
        Visit& visit = stack.back();
        const std::int32_t degree = around_.degree(visit.v);
        if (visit.seen == degree) {
          stack.pop_back();
          continue;
        }
        const std::int32_t begin = around_.begin[visit.v];
        const std::int32_t e = around_.targets[begin + (visit.first + visit.seen++) % degree];
        if (edges_[e].from != visit.v) continue;
        for (const std::int32_t head : heads_[e]) appendInner(head, &visited);
        if (--missing[edges_[e].to] == 0) enter(edges_[e].to);
      }
    }
    return visited;
  }

  std::vector<LayeredPath> leftOut() const {
    std::vector<LayeredPath> paths;
    for (std::size_t e = 0; e < edges_.size(); ++e) {
      if (!left_out_[e]) continue;
      for (const std::int32_t head : heads_[e]) appendInner(head, &paths.emplace_back());
    }
    return paths;
  }

 private:
  struct Chain {
    std::int32_t from = 0;
    std::int32_t to = 0;
    std::int32_t head = -1;  // first vertex of the chain, in the layered graph
  };

  struct Visit {
    std::int32_t v = 0;
    std::int32_t first = 0;  // first of the edges around it
    std::int32_t seen = 0;
  };

  bool isInner(std::int32_t v) const { return layered_.up.degree(v) == 1 && layered_.down.degree(v) == 1; }
  std::int32_t below(std::int32_t v) const { return layered_.down.targets[layered_.down.begin[v]]; }

  void appendInner(std::int32_t head, std::vector<std::int32_t>* to) const {
    for (std::int32_t v = head; isInner(v); v = below(v)) to->push_back(v);
  }

  // The conflicting edge that costs least to leave out. One to the sink costs nothing; without one from the source the
  // search could not reach what lies behind it.
  std::int32_t leastOf(const std::vector<std::int32_t>& conflict) const {
    const auto loss = [&](std::int32_t e) {
      if (edges_[e].from == source_) return edges_[e].to == sink_ ? 1 << 30 : 1 << 29;
      return edges_[e].to == sink_ ? 0 : 1 + static_cast<std::int32_t>(heads_[e].size());
    };
    return *std::min_element(conflict.begin(), conflict.end(),
                             [&](std::int32_t a, std::int32_t b) { return loss(a) < loss(b); });
  }

  // First outgoing edge in clockwise order, after the incoming ones.
  std::int32_t firstOut(std::int32_t v) const {
    const std::int32_t degree = around_.degree(v);
    const auto edge = [&](std::int32_t i) { return edges_[around_.targets[around_.begin[v] + i % degree]]; };
    for (std::int32_t i = 0; i < degree; ++i) {
      const bool last = v == source_ ? edge(i).to == sink_ : edge(i).to == v && edge(i + 1).from == v;
      if (last) return i + 1;
    }
    return 0;
  }

  const LayeredGraph& layered_;
  std::vector<std::int32_t> number_;  // for each vertex of the layered graph: its number here
  std::vector<std::int32_t> vertex_;
  std::int32_t source_ = 0;
  std::int32_t sink_ = 0;
  std::vector<LayoutEdge> edges_;
  std::vector<std::vector<std::int32_t>> heads_;  // for each edge: first vertices of the chains that it stands for
  std::vector<bool> left_out_;
  Adjacency around_;
};

}  // namespace

bool orderByEmbedding(LayeredGraph* graph, std::int64_t* work, std::vector<LayeredPath>* left_out,
                      const std::atomic<bool>* cancel) {
  Contracted contracted(*graph);
  if (!contracted.embed(work, cancel)) return false;
  *left_out = contracted.leftOut();
  std::vector<std::int32_t> order = contracted.leftFirst();
  for (const LayeredPath& path : *left_out) order.insert(order.end(), path.begin(), path.end());
  for (auto& layer : graph->order) layer.clear();
  for (const std::int32_t v : order) {
    graph->position[v] = static_cast<std::int32_t>(graph->order[graph->layer[v]].size());
    graph->order[graph->layer[v]].push_back(v);
  }
  return true;
}

}  // namespace ipex_studio::layout_internal
