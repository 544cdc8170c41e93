// A set of nodes, alive or not, in one array: a look-up is one access to memory where std::unordered_set makes three, and
// an insertion allocates nothing.
#pragma once

#include <cstddef>
#include <vector>

#include "core/graph/torch_compat.h"

namespace ipex_studio {

// Open addressing with linear probing; at most half of the places are taken. Only addresses are looked at.
class NodeSet {
 public:
  bool contains(const torch::jit::Node* node) const { return size_ != 0 && slots_[find(node)] == node; }
  std::size_t size() const { return size_; }
  void insert(const torch::jit::Node* node);
  void erase(const torch::jit::Node* node);
  void clear();

 private:
  std::size_t home(const torch::jit::Node* node) const;
  std::size_t find(const torch::jit::Node* node) const;  // its place, or the free one it would get
  void grow();

  std::vector<const torch::jit::Node*> slots_;  // their number is a power of two, or 0
  std::size_t size_ = 0;
};

}  // namespace ipex_studio
