// Partitioned Boolean quadratic problem: choose one alternative per node such that the sum of all node costs and edge
// costs is least; an edge's cost depends on the alternatives at both its ends.
//
// Nodes with at most two neighbours are reduced without loss (R0, R1, R2); where none is left, the node with most
// neighbours takes its locally best alternative (RN) and the result is improved node by node. Chains, trees and
// series-parallel graphs are solved exactly. Time O((n + e) · (a³ + log n)) for n nodes, e edges, a alternatives.
// Sources: B. Scholz, E. Eckstein: Register Allocation for Irregular Architectures, LCTES 2002; A. Anderson, D. Gregg:
// Optimal DNN Primitive Selection with Partitioned Boolean Quadratic Programming, CGO 2018.
#pragma once

#include <cstddef>
#include <vector>

namespace ipex_studio {

// Not thread-safe. Ties go to the alternative added first, so that equal problems have equal solutions.
class Pbqp {
 public:
  struct Solution {
    std::vector<int> choice;  // per node
    double cost = 0;
    bool exact = true;  // false: a heuristic decided somewhere
  };

  // Adds a node with the costs of its alternatives, at least one of which is finite. Returns the node's number.
  int addNode(std::vector<double> costs);
  // Adds an edge. costs[i * alternatives(b) + j] is the finite cost of alternative i of `a` beside j of `b`. Edges
  // between the same nodes add up.
  void addEdge(int a, int b, std::vector<double> costs);

  Solution solve() const;
  // Total cost of an assignment.
  double cost(const std::vector<int>& choice) const;

 private:
  friend class PbqpSolver;
  struct Edge {
    int a, b;
    std::vector<double> costs;
  };

  std::vector<std::vector<double>> nodes_;
  std::vector<Edge> edges_;
};

}  // namespace ipex_studio
