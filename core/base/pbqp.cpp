// PBQP solver: reductions while they apply, a heuristic choice where none does, then back-propagation of the choices.
#include "core/base/pbqp.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/error.h"

namespace ipex_studio {
namespace {

std::size_t leastIndex(const std::vector<double>& costs) {
  return static_cast<std::size_t>(std::min_element(costs.begin(), costs.end()) - costs.begin());
}

}  // namespace

int Pbqp::addNode(std::vector<double> costs) {
  IPEX_CHECK(!costs.empty(), "a node needs an alternative");
  nodes_.push_back(std::move(costs));
  return static_cast<int>(nodes_.size()) - 1;
}

void Pbqp::addEdge(int a, int b, std::vector<double> costs) {
  IPEX_CHECK(a != b && costs.size() == nodes_.at(a).size() * nodes_.at(b).size(), "an edge needs a cost for each pair");
  edges_.push_back({a, b, std::move(costs)});
}

double Pbqp::cost(const std::vector<int>& choice) const {
  double total = 0;
  for (std::size_t n = 0; n < nodes_.size(); ++n) total += nodes_[n][static_cast<std::size_t>(choice[n])];
  for (const Edge& edge : edges_) {
    total += edge.costs[static_cast<std::size_t>(choice[edge.a]) * nodes_[edge.b].size() +
                        static_cast<std::size_t>(choice[edge.b])];
  }
  return total;
}

class PbqpSolver {
 public:
  explicit PbqpSolver(const Pbqp& problem) : problem_(problem), costs_(problem.nodes_), neighbours_(costs_.size()) {
    for (const Pbqp::Edge& edge : problem.edges_) merge(edge.a, edge.b, edge.costs);
    for (std::size_t n = 0; n < costs_.size(); ++n) queue_.emplace(degree(static_cast<int>(n)), static_cast<int>(n));
  }

  Pbqp::Solution solve() {
    while (!queue_.empty()) {
      const int least = queue_.begin()->second;
      if (degree(least) <= 2) {
        reduce(least);
      } else {
        settle(queue_.rbegin()->second);
      }
    }
    Pbqp::Solution solution;
    solution.choice.assign(costs_.size(), 0);
    for (auto node = order_.rbegin(); node != order_.rend(); ++node)
      solution.choice[*node] = best(*node, solution.choice);
    solution.exact = exact_;
    if (!exact_) improve(solution.choice);
    solution.cost = problem_.cost(solution.choice);
    return solution;
  }

 private:
  // An edge seen from one of its ends.
  struct Side {
    int other;
    int edge;
  };

  int degree(int node) const { return static_cast<int>(neighbours_[node].size()); }

  double at(int edge, int node, std::size_t mine, std::size_t theirs) const {
    const Pbqp::Edge& e = edges_[edge];
    return e.a == node ? e.costs[mine * costs_[e.b].size() + theirs] : e.costs[theirs * costs_[e.b].size() + mine];
  }

  void merge(int a, int b, const std::vector<double>& costs) {
    for (const Side& side : neighbours_[a]) {
      if (side.other != b) continue;
      Pbqp::Edge& edge = edges_[side.edge];
      for (std::size_t i = 0; i < costs_[a].size(); ++i) {
        for (std::size_t j = 0; j < costs_[b].size(); ++j) {
          edge.costs[edge.a == a ? i * costs_[b].size() + j : j * costs_[a].size() + i] +=
              costs[i * costs_[b].size() + j];
        }
      }
      return;
    }
    const int edge = static_cast<int>(edges_.size());
    edges_.push_back({a, b, costs});
    neighbours_[a].push_back({b, edge});
    neighbours_[b].push_back({a, edge});
  }

  // Removes the node from the graph; its own list of neighbours stays for back-propagation.
  void remove(int node) {
    queue_.erase({degree(node), node});
    for (const Side& side : neighbours_[node]) {
      auto& theirs = neighbours_[side.other];
      queue_.erase({static_cast<int>(theirs.size()), side.other});
      theirs.erase(std::find_if(theirs.begin(), theirs.end(), [&](const Side& s) { return s.other == node; }));
      queue_.emplace(static_cast<int>(theirs.size()), side.other);
    }
    order_.push_back(node);
  }

  // Reductions R0, R1, R2: the node's least cost is added to the costs of its neighbours.
  void reduce(int node) {
    remove(node);
    const std::vector<Side>& sides = neighbours_[node];
    if (sides.size() == 1) {
      std::vector<double>& theirs = costs_[sides[0].other];
      for (std::size_t j = 0; j < theirs.size(); ++j) theirs[j] += leastWith(node, j, 0);
    } else if (sides.size() == 2) {
      const int first = sides[0].other, second = sides[1].other;
      std::vector<double> delta;
      for (std::size_t j = 0; j < costs_[first].size(); ++j) {
        for (std::size_t k = 0; k < costs_[second].size(); ++k) delta.push_back(leastWith(node, j, k));
      }
      for (int end : {first, second}) queue_.erase({degree(end), end});
      merge(first, second, delta);
      for (int end : {first, second}) queue_.emplace(degree(end), end);
    }
  }

  double leastWith(int node, std::size_t j, std::size_t k) const {
    const std::vector<Side>& sides = neighbours_[node];
    double least = 0;
    for (std::size_t i = 0; i < costs_[node].size(); ++i) {
      double cost = costs_[node][i] + at(sides[0].edge, node, i, j);
      if (sides.size() == 2) cost += at(sides[1].edge, node, i, k);
      if (i == 0 || cost < least) least = cost;
    }
    return least;
  }

  // Reduction RN: takes the alternative that is cheapest if each neighbour then takes its own best.
  void settle(int node) {
    exact_ = false;
    std::vector<double> locally = costs_[node];
    for (const Side& side : neighbours_[node]) {
      const std::vector<double>& theirs = costs_[side.other];
      for (std::size_t i = 0; i < locally.size(); ++i) {
        double least = 0;
        for (std::size_t j = 0; j < theirs.size(); ++j) {
          const double cost = theirs[j] + at(side.edge, node, i, j);
          if (j == 0 || cost < least) least = cost;
        }
        locally[i] += least;
      }
    }
    const std::size_t taken = leastIndex(locally);
    remove(node);
    for (const Side& side : neighbours_[node]) {
      std::vector<double>& theirs = costs_[side.other];
      for (std::size_t j = 0; j < theirs.size(); ++j) theirs[j] += at(side.edge, node, taken, j);
    }
    // The neighbours' costs now include this choice, so back-propagation must not take another.
    for (std::size_t i = 0; i < costs_[node].size(); ++i) costs_[node][i] = i == taken ? 0 : 1;
    neighbours_[node].clear();
  }

  // The node's best alternative; all neighbours that it had on removal are decided already.
  int best(int node, const std::vector<int>& choice) const {
    std::vector<double> costs = costs_[node];
    for (const Side& side : neighbours_[node]) {
      for (std::size_t i = 0; i < costs.size(); ++i)
        costs[i] += at(side.edge, node, i, static_cast<std::size_t>(choice[side.other]));
    }
    return static_cast<int>(leastIndex(costs));
  }

  // Changes single nodes while that lowers the total cost, for a few sweeps at most.
  void improve(std::vector<int>& choice) const {
    std::vector<std::vector<Side>> sides(costs_.size());
    for (std::size_t e = 0; e < problem_.edges_.size(); ++e) {
      sides[problem_.edges_[e].a].push_back({problem_.edges_[e].b, static_cast<int>(e)});
      sides[problem_.edges_[e].b].push_back({problem_.edges_[e].a, static_cast<int>(e)});
    }
    constexpr int kMaxSweeps = 8;
    bool changed = true;
    for (int sweep = 0; changed && sweep < kMaxSweeps; ++sweep) {
      changed = false;
      for (std::size_t n = 0; n < costs_.size(); ++n) {
        std::vector<double> costs = problem_.nodes_[n];
        for (const Side& side : sides[n]) {
          const Pbqp::Edge& edge = problem_.edges_[side.edge];
          const std::size_t width = problem_.nodes_[edge.b].size(),
                            theirs = static_cast<std::size_t>(choice[side.other]);
          for (std::size_t i = 0; i < costs.size(); ++i) {
            costs[i] += edge.a == static_cast<int>(n) ? edge.costs[i * width + theirs] : edge.costs[theirs * width + i];
          }
        }
        const std::size_t least = leastIndex(costs);
        if (costs[least] >= costs[static_cast<std::size_t>(choice[n])]) continue;
        choice[n] = static_cast<int>(least);
        changed = true;
      }
    }
  }

  const Pbqp& problem_;
  std::vector<std::vector<double>> costs_;  // costs of the nodes with those that reductions added
  std::vector<Pbqp::Edge> edges_;           // edges of the problem, then those that R2 made
  std::vector<std::vector<Side>> neighbours_;
  std::set<std::pair<int, int>> queue_;  // (degree, node) of the nodes that are left
  std::vector<int> order_;               // nodes in the order of removal
  bool exact_ = true;
};

Pbqp::Solution Pbqp::solve() const { return PbqpSolver(*this).solve(); }

}  // namespace ipex_studio
