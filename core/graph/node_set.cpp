#include "core/graph/node_set.h"

#include <algorithm>
#include <cstdint>

namespace ipex_studio {

using torch::jit::Node;

std::size_t NodeSet::home(const Node* node) const {
  // Who asks for nodes mostly asks in the order in which they lie: neighbours within 32 KiB have places near each other, which
  // come into the cache together, and fill less than half of them; a multiplication spreads the rest (Knuth, 6.4).
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;
  const auto address = reinterpret_cast<std::uintptr_t>(node);
  const std::uint64_t area = ((address >> 15) * kGolden) >> 32;
  return static_cast<std::size_t>(((address >> 7) & 0xff) + (area << 3)) & (slots_.size() - 1);
}

std::size_t NodeSet::find(const Node* node) const {
  std::size_t at = home(node);
  while (slots_[at] != nullptr && slots_[at] != node) at = (at + 1) & (slots_.size() - 1);
  return at;
}

void NodeSet::grow() {
  constexpr std::size_t kFewest = 64;
  std::vector<const Node*> old(std::max(kFewest, 2 * slots_.size()), nullptr);
  old.swap(slots_);
  for (const Node* node : old) {
    if (node != nullptr) slots_[find(node)] = node;
  }
}

void NodeSet::insert(const Node* node) {
  if (2 * (size_ + 1) > slots_.size()) grow();
  const std::size_t at = find(node);
  if (slots_[at] != node) ++size_;
  slots_[at] = node;
}

// Knuth's algorithm R: what would not be found over the gap moves into it.
void NodeSet::erase(const Node* node) {
  if (!contains(node)) return;
  const std::size_t mask = slots_.size() - 1;
  std::size_t gap = find(node);
  for (std::size_t at = (gap + 1) & mask; slots_[at] != nullptr; at = (at + 1) & mask) {
    const bool reached = ((at - home(slots_[at])) & mask) >= ((at - gap) & mask);
    if (!reached) continue;
    slots_[gap] = slots_[at];
    gap = at;
  }
  slots_[gap] = nullptr;
  --size_;
}

void NodeSet::clear() {
  if (size_ != 0) std::fill(slots_.begin(), slots_.end(), nullptr);
  size_ = 0;
}

}  // namespace ipex_studio
