// GraphCopy: a graph as it is now, to be put back in place. A method holds its graph for good, so the graph stays the
// same object; its nodes and values are made anew.
#pragma once

#include <memory>

#include "core/graph/origins.h"

namespace ipex_studio {

// Shares the tensors of constants, which no pass writes to. Takes time linear in the size of the graph. Not
// thread-safe.
class GraphCopy {
 public:
  GraphCopy(torch::jit::Graph& graph, const OriginTable& origins);

  // Gives `graph` the nodes, values and types of the copy, and `origins` what it held of them; the graph may be broken.
  // Nodes, values and inputs of the graph from before are destroyed.
  void restore(torch::jit::Graph& graph, OriginTable& origins) const;

 private:
  std::shared_ptr<torch::jit::Graph> copy_;
  OriginTable before_;
  OriginTable of_copy_;  // origins of the values of copy_
};

}  // namespace ipex_studio
