// Taking away readers of values that thousands read (attributes that all convolutions of a graph share, a large skip).
#pragma once

#include <cstddef>
#include <unordered_map>

#include "core/graph/torch_compat.h"

namespace ipex_studio {

// libtorch looks a use up by search from the first one and closes the gap behind it, so that taking n readers of one value
// away costs n². Here a value that many read remembers where its last use was found: the next one, in a walk along the
// graph, is its neighbour. The order of such a value's other uses may change. Not thread-safe.
class ValueUses {
 public:
  // As Node::removeAllInputs(), Node::destroy() and Node::replaceInput().
  void removeInputs(torch::jit::Node* node);
  void destroy(torch::jit::Node* node);
  void replaceInput(torch::jit::Node* node, std::size_t index, torch::jit::Value* value);

 private:
  // `change` takes this input off its value.
  template <typename Change>
  void changeInput(torch::jit::Node* node, std::size_t index, const Change& change);

  std::unordered_map<const torch::jit::Value*, std::size_t> found_at_;
  torch::jit::use_list alone_;  // the one use that libtorch gets to see
};

// As Value::replaceAllUsesWith(), in time that grows as the number of uses; keeps their order.
void replaceUses(torch::jit::Value* from, torch::jit::Value* to);

}  // namespace ipex_studio
