// A least cut between the two sides: each step on one of them, each value copied at most once. The flow is the largest,
// by Dinic's algorithm (Soviet Math. Doklady 11, 1970).
#include "core/runtime/placement.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace ipex_studio {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kNothing = 1e-9;  // ns, of a rest that rounding leaves

// Nodes from which an edge is cut lie at the source's side.
class Cut {
 public:
  int addNode() {
    edges_of_.emplace_back();
    return static_cast<int>(edges_of_.size()) - 1;
  }
  // Adds what it costs that `from` lies at the source's side and `to` at the other.
  void addEdge(int from, int to, double cost) {
    edges_of_[at(from)].push_back(static_cast<int>(edges_.size()));
    edges_.push_back({to, cost});
    edges_of_[at(to)].push_back(static_cast<int>(edges_.size()));
    edges_.push_back({from, 0});
  }
  // The nodes at the target's side of the least cut, as few as there can be.
  std::vector<bool> targetSide(int source, int target) {
    while (findLevels(source, target)) {
      next_.assign(edges_of_.size(), 0);
      while (push(source, target, kNever) > kNothing) {
      }
    }
    std::vector<bool> reaches(edges_of_.size(), false);
    std::vector<int> open{target};
    reaches[at(target)] = true;
    while (!open.empty()) {
      const int node = open.back();
      open.pop_back();
      for (const int edge : edges_of_[at(node)]) {
        const int from = edges_[at(edge)].to;
        if (reaches[at(from)] || edges_[at(edge ^ 1)].rest <= kNothing) continue;
        reaches[at(from)] = true;
        open.push_back(from);
      }
    }
    return reaches;
  }

 private:
  struct Edge {
    int to;
    double rest;
  };

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  bool findLevels(int source, int target) {
    level_.assign(edges_of_.size(), -1);
    level_[at(source)] = 0;
    std::vector<int> order{source};
    for (std::size_t n = 0; n < order.size(); ++n) {
      for (const int edge : edges_of_[at(order[n])]) {
        const Edge& each = edges_[at(edge)];
        if (each.rest <= kNothing || level_[at(each.to)] >= 0) continue;
        level_[at(each.to)] = level_[at(order[n])] + 1;
        order.push_back(each.to);
      }
    }
    return level_[at(target)] >= 0;
  }

  // Pushes along one path of the levels, without recursion, since plans may be long chains.
  double push(int source, int target, double most) {
    std::vector<int> path;  // edges
    int node = source;
    while (node != target) {
      const std::vector<int>& edges = edges_of_[at(node)];
      std::size_t& next = next_[at(node)];
      while (next < edges.size() && !leads(edges[next], node)) ++next;
      if (next < edges.size()) {
        path.push_back(edges[next]);
        node = edges_[at(edges[next])].to;
      } else {
        if (path.empty()) return 0;
        node = edges_[at(path.back() ^ 1)].to;
        ++next_[at(node)];
        path.pop_back();
      }
    }
    for (const int edge : path) most = std::min(most, edges_[at(edge)].rest);
    for (const int edge : path) {
      edges_[at(edge)].rest -= most;
      edges_[at(edge ^ 1)].rest += most;
    }
    return most;
  }

  bool leads(int edge, int from) const {
    const Edge& each = edges_[at(edge)];
    return each.rest > kNothing && level_[at(each.to)] == level_[at(from)] + 1;
  }

  std::vector<Edge> edges_;  // each beside the one back
  std::vector<std::vector<int>> edges_of_;
  std::vector<int> level_;
  std::vector<std::size_t> next_;
};

// The source is the device, the target the host.
std::vector<bool> placed(const PlacementProblem& problem) {
  Cut cut;
  const int device = cut.addNode(), host = cut.addNode();
  std::vector<int> steps;
  for (const PlacementProblem::Step& step : problem.steps) {
    steps.push_back(cut.addNode());
    if (step.on_device) {
      cut.addEdge(device, steps.back(), step.host_ns);
    } else {
      cut.addEdge(steps.back(), host, kNever);
    }
  }
  const auto nodeOf = [&](std::int32_t step) { return step < 0 ? host : steps[static_cast<std::size_t>(step)]; };
  for (const PlacementProblem::Value& value : problem.values) {
    // Readers on the other side share one copy: a node for each side lies there if the value is wanted there.
    const int wanted_on_device = cut.addNode(), wanted_on_host = cut.addNode();
    cut.addEdge(wanted_on_device, nodeOf(value.maker), value.copy_ns);
    cut.addEdge(nodeOf(value.maker), wanted_on_host, value.copy_ns);
    for (const std::int32_t reader : value.readers) {
      cut.addEdge(nodeOf(reader), wanted_on_device, kNever);
      cut.addEdge(wanted_on_host, nodeOf(reader), kNever);
    }
  }
  const std::vector<bool> at_host = cut.targetSide(device, host);
  std::vector<bool> on_host;
  for (const int step : steps) on_host.push_back(at_host[static_cast<std::size_t>(step)]);
  return on_host;
}

}  // namespace

std::vector<bool> placeOnHost(const PlacementProblem& problem) {
  std::vector<bool> on_host;
  for (const PlacementProblem::Step& step : problem.steps) on_host.push_back(!step.on_device);
  const bool is_mixed = std::find(on_host.begin(), on_host.end(), true) != on_host.end() &&
                        std::find(on_host.begin(), on_host.end(), false) != on_host.end();
  if (!is_mixed) return on_host;
  std::vector<bool> least = placed(problem);
  const bool any_left = std::find(least.begin(), least.end(), false) != least.end();
  return any_left ? least : on_host;
}

}  // namespace ipex_studio
