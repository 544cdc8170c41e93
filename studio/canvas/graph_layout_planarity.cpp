// Planarity by left-right partition, without recursion: Brandes, "The Left-Right Planarity Test" (2009), after de
// Fraysseix, Ossona de Mendez and Rosenstiehl ("Trémaux Trees and Planarity", 2006).
//
// A depth-first search makes a tree and return edges to ancestors. Return edges of one fork lie all to the left or to
// the right of the tree path they span; which ones must share a side and which must not is kept as a stack of pairs of
// intervals.
#include <algorithm>
#include <numeric>
#include <utility>

#include "studio/canvas/graph_layout_internal.h"

namespace ipex_studio::layout_internal {
namespace {

constexpr std::int32_t kNone = -1;

// Return edges from the highest to the lowest, linked by `ref`.
struct Interval {
  std::int32_t high = kNone;
  std::int32_t low = kNone;

  bool empty() const { return high == kNone && low == kNone; }
};

struct ConflictPair {
  Interval left;
  Interval right;
};

class LeftRight {
 public:
  LeftRight(std::int32_t vertices, const std::vector<LayoutEdge>& edges, const std::vector<bool>& left_out)
      : from_(edges.size(), kNone),
        to_(edges.size(), kNone),
        lowest_(edges.size(), 0),
        second_lowest_(edges.size(), 0),
        nesting_(edges.size(), 0),
        ref_(edges.size(), kNone),
        side_(edges.size(), 1),
        lowest_edge_(edges.size(), kNone),
        bottom_(edges.size(), 0),
        height_(static_cast<std::size_t>(vertices), kNone),
        parent_(static_cast<std::size_t>(vertices), kNone) {
    orient(edges, left_out);
  }

  bool isPlanar() {
    sortByNesting();
    std::vector<std::int32_t> next = outs_.begin;
    std::vector<std::int32_t> stack;
    for (const std::int32_t root : roots_) {
      stack.assign(1, root);
      while (!stack.empty()) {
        const std::int32_t v = stack.back();
        if (next[v] < outs_.begin[v + 1]) {
          const std::int32_t e = outs_.targets[next[v]++];
          bottom_[e] = pairs_.size();
          if (parent_[to_[e]] == e) {
            stack.push_back(to_[e]);
            continue;
          }
          lowest_edge_[e] = e;
          pairs_.push_back({{}, {e, e}});
          if (!integrate(e)) return false;
          continue;
        }
        stack.pop_back();
        if (parent_[v] == kNone) continue;
        removeReturnEdgesTo(parent_[v]);
        if (!integrate(parent_[v])) return false;
      }
    }
    return true;
  }

  const std::vector<std::int32_t>& conflict() const { return conflict_; }

  // Edges around each vertex, clockwise. Half-edge 2e is the end of e at its `from`, 2e + 1 that at its `to`.
  Adjacency embedding() {
    for (std::size_t e = 0; e < from_.size(); ++e) nesting_[e] *= sign(static_cast<std::int32_t>(e));
    sortByNesting();
    after_.assign(2 * from_.size(), kNone);
    before_ = after_;
    first_.assign(height_.size(), kNone);
    for (std::size_t v = 0; v < height_.size(); ++v) {
      for (std::int32_t i = outs_.begin[v]; i < outs_.begin[v + 1]; ++i) {
        const std::int32_t half = 2 * outs_.targets[i];
        if (first_[v] == kNone) {
          first_[v] = after_[half] = before_[half] = half;
        } else {
          insertAfter(before_[first_[v]], half);
        }
      }
    }
    placeReturnEdges();
    Adjacency around;
    around.begin.push_back(0);
    for (const std::int32_t first : first_) {
      for (std::int32_t half = first; half != kNone; half = after_[half] == first ? kNone : after_[half])
        around.targets.push_back(half / 2);
      around.begin.push_back(static_cast<std::int32_t>(around.targets.size()));
    }
    return around;
  }

 private:
  // First search: directions, lowest return points of edges, and from them how edges nest.
  void orient(const std::vector<LayoutEdge>& edges, const std::vector<bool>& left_out) {
    Adjacency incident;
    incident.begin.assign(height_.size() + 1, 0);
    const auto each = [&](auto&& visit) {
      for (std::size_t e = 0; e < edges.size(); ++e) {
        if (left_out[e]) continue;
        visit(static_cast<std::size_t>(edges[e].from), static_cast<std::int32_t>(e));
        visit(static_cast<std::size_t>(edges[e].to), static_cast<std::int32_t>(e));
      }
    };
    each([&](std::size_t v, std::int32_t) { ++incident.begin[v + 1]; });
    std::partial_sum(incident.begin.begin(), incident.begin.end(), incident.begin.begin());
    std::vector<std::int32_t> next = incident.begin;
    incident.targets.resize(static_cast<std::size_t>(incident.begin.back()));
    each([&](std::size_t v, std::int32_t e) { incident.targets[next[v]++] = e; });
    next = incident.begin;
    std::vector<std::int32_t> stack;
    for (std::size_t root = 0; root < height_.size(); ++root) {
      if (height_[root] != kNone) continue;
      height_[root] = 0;
      roots_.push_back(static_cast<std::int32_t>(root));
      stack.assign(1, static_cast<std::int32_t>(root));
      while (!stack.empty()) {
        const std::int32_t v = stack.back();
        if (next[v] == incident.begin[v + 1]) {
          stack.pop_back();
          if (parent_[v] != kNone) finish(parent_[v]);
          continue;
        }
        const std::int32_t e = incident.targets[next[v]++];
        if (from_[e] != kNone) continue;
        from_[e] = v;
        to_[e] = edges[e].from == v ? edges[e].to : edges[e].from;
        lowest_[e] = second_lowest_[e] = height_[v];
        if (height_[to_[e]] == kNone) {
          parent_[to_[e]] = e;
          height_[to_[e]] = height_[v] + 1;
          stack.push_back(to_[e]);
        } else {
          lowest_[e] = height_[to_[e]];
          finish(e);
        }
      }
    }
  }

  // Ends the visit of `e`: everything behind it was visited.
  void finish(std::int32_t e) {
    nesting_[e] = 2 * lowest_[e] + (second_lowest_[e] < height_[from_[e]] ? 1 : 0);
    const std::int32_t parent = parent_[from_[e]];
    if (parent == kNone) return;
    if (lowest_[e] < lowest_[parent]) {
      second_lowest_[parent] = std::min(lowest_[parent], second_lowest_[e]);
      lowest_[parent] = lowest_[e];
    } else {
      const std::int32_t other = lowest_[e] > lowest_[parent] ? lowest_[e] : second_lowest_[e];
      second_lowest_[parent] = std::min(second_lowest_[parent], other);
    }
  }

  void sortByNesting() {
    std::vector<std::int32_t> sorted;
    for (std::size_t e = 0; e < from_.size(); ++e) {
      if (from_[e] != kNone) sorted.push_back(static_cast<std::int32_t>(e));
    }
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](std::int32_t a, std::int32_t b) { return nesting_[a] < nesting_[b]; });
    outs_.begin.assign(height_.size() + 1, 0);
    for (const std::int32_t e : sorted) ++outs_.begin[from_[e] + 1];
    std::partial_sum(outs_.begin.begin(), outs_.begin.end(), outs_.begin.begin());
    std::vector<std::int32_t> next = outs_.begin;
    outs_.targets.resize(sorted.size());
    for (const std::int32_t e : sorted) outs_.targets[next[from_[e]]++] = e;
  }

  bool conflicting(const Interval& interval, std::int32_t e) const {
    return !interval.empty() && lowest_[interval.high] > lowest_[e];
  }

  std::int32_t lowestOf(const ConflictPair& pair) const {
    if (pair.left.empty()) return lowest_[pair.right.low];
    if (pair.right.empty()) return lowest_[pair.left.low];
    return std::min(lowest_[pair.left.low], lowest_[pair.right.low]);
  }

  // Joins the return edges of `e` with those of the edges before it from the same vertex. False if that is
  // impossible.
  bool integrate(std::int32_t e) {
    const std::int32_t v = from_[e];
    if (lowest_[e] >= height_[v]) return true;
    const std::int32_t parent = parent_[v];
    if (outs_.targets[outs_.begin[v]] == e) {
      lowest_edge_[parent] = lowest_edge_[e];
      return true;
    }
    return addConstraints(e, parent);
  }

  bool fails(const ConflictPair& pair, std::int32_t e) {
    conflict_ = {pair.left.high, pair.left.low, pair.right.high, pair.right.low, lowest_edge_[e]};
    conflict_.erase(std::remove(conflict_.begin(), conflict_.end(), kNone), conflict_.end());
    return false;
  }

  bool addConstraints(std::int32_t e, std::int32_t parent) {
    ConflictPair merged;
    do {  // All return edges of e go to one side.
      ConflictPair pair = pairs_.back();
      pairs_.pop_back();
      if (!pair.left.empty()) std::swap(pair.left, pair.right);
      if (!pair.left.empty()) return fails(pair, e);
      if (lowest_[pair.right.low] > lowest_[parent]) {
        if (merged.right.empty()) {
          merged.right.high = pair.right.high;
        } else {
          ref_[merged.right.low] = pair.right.high;
        }
        merged.right.low = pair.right.low;
      } else {
        ref_[pair.right.low] = lowest_edge_[parent];
      }
    } while (pairs_.size() > bottom_[e]);
    // Return edges of earlier edges that reach less far go to the other.
    while (!pairs_.empty() && (conflicting(pairs_.back().left, e) || conflicting(pairs_.back().right, e))) {
      ConflictPair pair = pairs_.back();
      pairs_.pop_back();
      if (conflicting(pair.right, e)) std::swap(pair.left, pair.right);
      if (conflicting(pair.right, e)) return fails(pair, e);
      if (merged.right.low != kNone) ref_[merged.right.low] = pair.right.high;
      if (pair.right.low != kNone) merged.right.low = pair.right.low;
      if (merged.left.empty()) {
        merged.left.high = pair.left.high;
      } else {
        ref_[merged.left.low] = pair.left.high;
      }
      merged.left.low = pair.left.low;
    }
    if (!merged.left.empty() || !merged.right.empty()) pairs_.push_back(merged);
    return true;
  }

  // Removes return edges that end where `e` begins.
  void removeReturnEdgesTo(std::int32_t e) {
    const std::int32_t u = from_[e];
    while (!pairs_.empty() && lowestOf(pairs_.back()) == height_[u]) {
      if (pairs_.back().left.low != kNone) side_[pairs_.back().left.low] = -1;
      pairs_.pop_back();
    }
    if (!pairs_.empty()) {
      trim(&pairs_.back().left, pairs_.back().right.low, u);
      trim(&pairs_.back().right, pairs_.back().left.low, u);
    }
    if (lowest_[e] >= height_[u]) return;
    const std::int32_t left = pairs_.back().left.high;
    const std::int32_t right = pairs_.back().right.high;
    ref_[e] = left != kNone && (right == kNone || lowest_[left] > lowest_[right]) ? left : right;
  }

  void trim(Interval* interval, std::int32_t opposite, std::int32_t u) {
    while (interval->high != kNone && to_[interval->high] == u) interval->high = ref_[interval->high];
    if (interval->high != kNone || interval->low == kNone) return;
    ref_[interval->low] = opposite;
    side_[interval->low] = -1;
    interval->low = kNone;
  }

  // Side of e, +1 or -1, from the sides that it depends on.
  std::int32_t sign(std::int32_t e) {
    std::vector<std::int32_t> chain{e};
    while (ref_[chain.back()] != kNone) chain.push_back(ref_[chain.back()]);
    for (std::size_t i = chain.size() - 1; i-- > 0;) {
      side_[chain[i]] *= side_[chain[i + 1]];
      ref_[chain[i]] = kNone;
    }
    return side_[e];
  }

  void insertAfter(std::int32_t place, std::int32_t half) {
    after_[half] = after_[place];
    before_[half] = place;
    before_[after_[place]] = half;
    after_[place] = half;
  }

  void placeReturnEdges() {
    std::vector<std::int32_t> next = outs_.begin;
    std::vector<std::int32_t> left(height_.size(), kNone);
    std::vector<std::int32_t> right = left;
    std::vector<std::int32_t> stack;
    for (const std::int32_t root : roots_) {
      stack.assign(1, root);
      while (!stack.empty()) {
        const std::int32_t v = stack.back();
        if (next[v] == outs_.begin[v + 1]) {
          stack.pop_back();
          continue;
        }
        const std::int32_t e = outs_.targets[next[v]++];
        const std::int32_t w = to_[e];
        const std::int32_t half = 2 * e + 1;
        if (parent_[w] == e) {
          if (first_[w] == kNone) {
            after_[half] = before_[half] = half;
          } else {
            insertAfter(before_[first_[w]], half);
          }
          first_[w] = half;
          left[v] = right[v] = 2 * e;
          stack.push_back(w);
        } else if (side_[e] == 1) {
          insertAfter(right[w], half);
        } else {
          insertAfter(before_[left[w]], half);
          left[w] = half;
        }
      }
    }
  }

  // For each edge:
  std::vector<std::int32_t> from_;
  std::vector<std::int32_t> to_;
  std::vector<std::int32_t> lowest_;  // height of its lowest return point
  std::vector<std::int32_t> second_lowest_;
  std::vector<std::int32_t> nesting_;
  std::vector<std::int32_t> ref_;  // the edge whose side this one's depends on
  std::vector<std::int32_t> side_;
  std::vector<std::int32_t> lowest_edge_;
  std::vector<std::size_t> bottom_;  // number of pairs before the edge
  // For each vertex:
  std::vector<std::int32_t> height_;
  std::vector<std::int32_t> parent_;  // tree edge that leads to it
  std::vector<std::int32_t> first_;   // first of the half-edges around it
  std::vector<std::int32_t> roots_;
  Adjacency outs_;  // edges from each vertex in the order of nesting
  std::vector<ConflictPair> pairs_;
  std::vector<std::int32_t> conflict_;
  // For each half-edge, the next one clockwise.
  std::vector<std::int32_t> after_;
  std::vector<std::int32_t> before_;
};

}  // namespace

std::vector<std::int32_t> embedInPlane(std::int32_t vertices, const std::vector<LayoutEdge>& edges,
                                       const std::vector<bool>& left_out, Adjacency* around) {
  LeftRight test(vertices, edges, left_out);
  if (!test.isPlanar()) return test.conflict();
  *around = test.embedding();
  return {};
}

}  // namespace ipex_studio::layout_internal
